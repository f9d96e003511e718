"""Runs the functions test_... of a module, each with a time limit, and ends with "N passed, N failed[, N skipped]"."""
import faulthandler
import signal
import sys
import traceback

LIMIT_S = 300


class Skip(Exception):
    pass


def late(*ignored):
    raise TimeoutError("took more than %d s" % LIMIT_S)


def main(module):
    faulthandler.enable()
    passed = failed = skipped = 0
    signal.signal(signal.SIGALRM, late)
    for name, test in list(vars(module).items()):
        if not name.startswith("test_"):
            continue
        signal.alarm(LIMIT_S)
        try:
            test()
            passed += 1
        except Skip as why:
            skipped += 1
            print("skipped: %s: %s" % (name, why))
        except Exception:
            failed += 1
            print("FAILED: %s: %s" % (name, traceback.format_exc().rstrip().split("\n")[-1]))
            print("    " + traceback.format_exc().replace("\n", "\n    ").rstrip())
        signal.alarm(0)
    print("%d passed, %d failed%s" % (passed, failed, ", %d skipped" % skipped if skipped else ""))
    sys.exit(failed > 0)


def raises(error_kind, error_text, call, *arguments, **named):
    """The call raises this error, with this text in it."""
    try:
        call(*arguments, **named)
    except error_kind as why:
        if error_text not in str(why):
            raise AssertionError("'%s': expected '%s' in it" % (why, error_text)) from None
        return why
    raise AssertionError("no error: expected %s with '%s'" % (error_kind.__name__, error_text))
