/* on_terminal COMMAND...: runs the command with standard input, output and error on a terminal of its own, and
 * copies what the command writes there to standard output. The exit status is the command's, or 128 + N after signal
 * N. If no terminal can be had, the status is 125, and one line on standard error says why.
 *
 * A pseudo-terminal comes from a file system, devpts, which a bare root often lacks: a chroot has an empty /dev/pts.
 * Root can make one all the same: an instance of devpts that is not mounted anywhere, which no other process sees and
 * which ends with its last descriptor. Its terminal has no path, so it is opened through its other end (TIOCGPTPEER).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NO_TERMINAL = 125, NO_COMMAND = 127, KILLED = 128 };

/* A descriptor of the root of a new instance of devpts, or -1 with errno. glibc has wrappers only since 2.36. */
static int own_devpts(void)
{
#if defined(SYS_fsopen) && defined(SYS_fsconfig) && defined(SYS_fsmount)
	enum { SET_STRING = 1, CREATE = 6 }; /* <linux/mount.h>: FSCONFIG_... */
	int mounted = -1, context = (int)syscall(SYS_fsopen, "devpts", 0);
	if (context < 0)
		return -1;
	if (syscall(SYS_fsconfig, context, SET_STRING, "ptmxmode", "0600", 0) == 0 &&
		syscall(SYS_fsconfig, context, CREATE, NULL, NULL, 0) == 0)
		mounted = (int)syscall(SYS_fsmount, context, 0, 0);
	close(context);
	return mounted;
#else
	errno = ENOSYS;
	return -1;
#endif
}

static int open_master(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master >= 0)
		return master;
	int saved = errno, devpts = own_devpts();
	if (devpts < 0) {
		errno = saved;
		return -1;
	}
	master = openat(devpts, "ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	close(devpts);
	return master;
}

/* Opens both ends; false with errno. */
static bool open_terminal(int *ret_master, int *ret_terminal)
{
	int master = open_master();
	if (master < 0)
		return false;
	int terminal = -1;
	if (unlockpt(master) == 0)
		terminal = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
	if (terminal < 0) {
		close(master);
		return false;
	}
	const struct winsize size = {.ws_row = 24, .ws_col = 80};
	(void)ioctl(master, TIOCSWINSZ, &size);
	*ret_master = master;
	*ret_terminal = terminal;
	return true;
}

static void run_command(int terminal, char **words)
{
	setsid();
	(void)ioctl(terminal, TIOCSCTTY, 0);
	for (int i = 0; i < 3; i++)
		dup2(terminal, i);
	if (terminal > 2)
		close(terminal);
	execvp(words[0], words);
	perror(words[0]);
	_exit(NO_COMMAND);
}

/* Copies until the last process that has the terminal open has closed it; reading then fails with EIO. */
static void copy_output(int master)
{
	char bytes[4096];
	for (ssize_t count; (count = read(master, bytes, sizeof bytes)) > 0 || (count < 0 && errno == EINTR);)
		if (count > 0)
			fwrite(bytes, 1, (size_t)count, stdout);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	int master, terminal, status;
	if (argc < 2) {
		fprintf(stderr, "usage: on_terminal COMMAND...\n");
		return 2;
	}
	if (!open_terminal(&master, &terminal)) {
		fprintf(stderr, "on_terminal: no pseudo-terminal: %s\n", strerror(errno));
		return NO_TERMINAL;
	}
	pid_t child = fork();
	if (child == 0)
		run_command(terminal, argv + 1);
	close(terminal);
	if (child < 0) {
		perror("on_terminal: fork");
		return NO_COMMAND;
	}
	copy_output(master);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return NO_COMMAND;
	return WIFEXITED(status) ? WEXITSTATUS(status) : KILLED + WTERMSIG(status);
}
