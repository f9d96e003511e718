# stop_signals: those that end a run. Source it. Under nohup SIGHUP is ignored, and stays so in all that is started there.
case $(awk '/^SigIgn/ { print $2 }' /proc/self/status) in
*[13579bdf]) stop_signals='TERM INT' ;;
*) stop_signals='TERM INT HUP' ;;
esac
