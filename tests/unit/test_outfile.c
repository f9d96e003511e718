/* Files that are written: which files are replaced and which are written to, and what remains when writing fails.
 * Failing system calls and killed processes are in tests/fault/test_sweep. */
#include "base/outfile.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/infile.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(outfile, .timeout = 60);

static char folder[] = "/tmp/troupe_outfile_XXXXXX";

static void set_up(void)
{
	cr_assert(mkdtemp(folder) && !chdir(folder));
	umask(022);
}

static void tear_down(void)
{
	char *command = mem_printf("rm -rf '%s'", folder);
	cr_assert(!chdir("/") && !system(command));
	free(command);
}

#define CASE(name) Test(outfile, name, .init = set_up, .fini = tear_down)

/* --- what the tests say ------------------------------------------------------------------------------------------- */

static struct troupe_error error;

static bool replaces(const char *path, const char *text)
{
	error = (struct troupe_error){0};
	return !outfile_replace(path, text, strlen(text), NULL, &error);
}

static bool may_be_written(const char *path)
{
	error = (struct troupe_error){0};
	return !outfile_check(path, &error);
}

static bool refused(const char *path, const char *why)
{
	bool found = !may_be_written(path) && strstr(error.text, why);
	return found && !replaces(path, "x") && error.status == TROUPE_EIO && strstr(error.text, why) &&
	       strstr(error.text, ": cannot write: ");
}

static bool holds(const char *path, const char *text)
{
	char *bytes;
	size_t count;
	if (infile_read(path, 1 << 24, &bytes, &count, NULL))
		return false;
	bool same = count == strlen(text) && !memcmp(bytes, text, count);
	free(bytes);
	return same;
}

static void make(const char *path, const char *text, mode_t mode)
{
	FILE *file = fopen(path, "w");
	cr_assert(file && fputs(text, file) >= 0 && !fclose(file) && !chmod(path, mode));
}

static mode_t mode_of(const char *path)
{
	struct stat info;
	return lstat(path, &info) ? 0 : info.st_mode;
}

/* The names in the folder, except . and .. */
static uint32_t count_names(const char *path)
{
	DIR *all = opendir(path);
	uint32_t count = 0;
	cr_assert(all);
	while (readdir(all))
		count++;
	(void)closedir(all);
	return count - 2;
}

/* --- as a whole --------------------------------------------------------------------------------------------------- */

CASE(a_file_is_replaced_as_a_whole)
{
	umask(027);
	cr_assert(replaces("a", "one"));
	cr_assert_eq(mode_of("a"), S_IFREG | 0640, "a new file has the mode that the umask leaves");
	FILE *old = fopen("a", "r");
	cr_assert(replaces("a", "second") && holds("a", "second"));
	char first[8] = "";
	cr_assert(
		fread(first, 1, 7, old) == 3 && !strcmp(first, "one"), "a process that has the old file open keeps it");
	(void)fclose(old);
	cr_assert(replaces("a", "") && holds("a", ""));
	cr_assert_eq(count_names("."), 1);
}

CASE(permissions_of_an_old_file_are_kept)
{
	static const mode_t modes[] = {0600, 0644, 0666, 0640, 0755};
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		make("a", "old", modes[i]);
		cr_assert(replaces("a", "new"));
		cr_assert_eq(mode_of("a"), S_IFREG | modes[i]);
	}
	if (geteuid()) /* only root can give a file away */
		return;
	cr_assert(!chown("a", 1, 2) && replaces("a", "newer"));
	struct stat info;
	cr_assert(!stat("a", &info) && info.st_uid == 1 && info.st_gid == 2);
}

CASE(a_large_file_is_whole)
{
	size_t count = 9 << 20; /* more than one part */
	char *bytes = mem_alloc(count + 1), *read;
	for (size_t i = 0; i < count; i++)
		bytes[i] = (char)hash_mix(i, 1);
	cr_assert(!outfile_replace("a", bytes, count, NULL, &error));
	size_t found;
	cr_assert(!infile_read("a", count, &read, &found, NULL) && found == count && !memcmp(read, bytes, count));
	free(bytes);
	free(read);
}

CASE(a_symbolic_link_is_followed)
{
	cr_assert(!mkdir("real", 0755) && !mkdir("links", 0755));
	make("real/a", "old", 0600);
	cr_assert(!symlink("../real/a", "links/relative") && !symlink("links/relative", "chain"));
	char *absolute = mem_printf("%s/real/b", folder);
	cr_assert(!symlink(absolute, "links/to_nothing"));
	cr_assert(may_be_written("chain") && replaces("chain", "by link") && holds("real/a", "by link"));
	cr_assert(S_ISLNK(mode_of("chain")) && S_ISLNK(mode_of("links/relative")), "links stay");
	cr_assert_eq(mode_of("real/a"), S_IFREG | 0600);
	cr_assert(may_be_written("links/to_nothing") && replaces("links/to_nothing", "new") && holds("real/b", "new"));
	cr_assert(S_ISLNK(mode_of("links/to_nothing")));
	cr_assert_eq(count_names("real"), 2);
	cr_assert(!symlink("loop", "loop") && refused("loop", strerror(ELOOP)));
	cr_assert(!symlink("no/where", "astray") && refused("astray", strerror(ENOENT)));
	free(absolute);
}

CASE(a_device_is_written_to)
{
	mode_t before = mode_of("/dev/null");
	cr_assert(may_be_written("/dev/null") && replaces("/dev/null", "x") && S_ISCHR(mode_of("/dev/null")));
	cr_assert_eq(mode_of("/dev/null"), before);
	cr_assert(!symlink("/dev/null", "sink") && replaces("sink", "x") && S_ISLNK(mode_of("sink")));
	if (!access("/dev/full", W_OK)) {
		cr_assert(may_be_written("/dev/full"));
		cr_assert(!replaces("/dev/full", "x") && strstr(error.text, strerror(ENOSPC)), "%s", error.text);
	}
}

struct reader {
	const char *path;
	char *bytes;
	size_t count;
};

static void *read_all(void *arg)
{
	struct reader *reader = arg;
	clock_sleep_until_ns(
		clock_now_ns() + 100000000); /* the file does not exist yet when it is opened for writing */
	cr_assert(!infile_read(reader->path, 1 << 24, &reader->bytes, &reader->count, NULL));
	return NULL;
}

CASE(a_pipe_is_written_to_and_waited_for)
{
	size_t count = 300000; /* more than a pipe holds */
	char *bytes = mem_alloc(count);
	struct reader reader = {.path = "pipe"};
	pthread_t thread;
	memset(bytes, 'p', count);
	cr_assert(!mkfifo("pipe", 0600) && may_be_written("pipe"));
	cr_assert(!pthread_create(&thread, NULL, read_all, &reader));
	cr_assert(!outfile_replace("pipe", bytes, count, NULL, &error), "%s", error.text);
	pthread_join(thread, NULL);
	cr_assert(reader.count == count && !memcmp(reader.bytes, bytes, count) && S_ISFIFO(mode_of("pipe")));
	free(reader.bytes);
	free(bytes);
}

CASE(an_open_file_of_this_process_is_written_to)
{
	int file = open("a", O_WRONLY | O_CREAT, 0600);
	char name[40];
	cr_assert(write(file, "before ", 7) == 7);
	(void)snprintf(name, sizeof name, "/proc/self/fd/%d", file);
	cr_assert(may_be_written(name) && replaces(name, "by name "));
	(void)snprintf(name, sizeof name, "/dev/fd/%d", file);
	cr_assert(replaces(name, "again "));
	cr_assert(write(file, "after", 5) == 5 && holds("a", "before by name again after"));
	close(file);
	file = open("a", O_RDONLY);
	(void)snprintf(name, sizeof name, "/proc/self/fd/%d", file);
	cr_assert(!may_be_written(name) && !replaces(name, "x"), "the file is open for reading only");
	int ends[2];
	char came[8] = "";
	cr_assert(!pipe(ends));
	(void)snprintf(name, sizeof name, "/proc/self/fd/%d", ends[1]);
	cr_assert(replaces(name, "piped") && read(ends[0], came, 7) == 5 && !strcmp(came, "piped"));
}

CASE(what_cannot_be_written_is_known_before)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "socket"};
	int file = socket(AF_UNIX, SOCK_STREAM, 0);
	char name[400], long_path[5000];
	cr_assert(!bind(file, (struct sockaddr *)&address, sizeof address));
	cr_assert(refused("socket", "is a socket"));
	cr_assert(refused(".", "is a folder") && refused("/", "is a folder") && refused("..", "is a folder"));
	cr_assert(refused(folder, "is a folder") && refused("", strerror(ENOENT)));
	cr_assert(refused("no/a", strerror(ENOENT)));
	make("plain", "", 0600);
	cr_assert(refused("plain/a", strerror(ENOTDIR)) && refused("plain/", "is a folder"));
	memset(name, 'n', sizeof name);
	name[255] = '\0';
	cr_assert(may_be_written(name) && replaces(name, "x") && replaces(name, "long") && holds(name, "long"));
	name[255] = 'n';
	name[256] = '\0';
	cr_assert(refused(name, strerror(ENAMETOOLONG)));
	memset(long_path, '/', sizeof long_path);
	long_path[sizeof long_path - 1] = '\0';
	cr_assert(!may_be_written(long_path) && !replaces(long_path, "x"));
	cr_assert(refused("/proc/a", ": cannot write: "));
	cr_assert_eq(count_names("."), 3);
	close(file);
}

CASE(permission_is_asked_for)
{
	cr_assert(!mkdir("closed", 0755));
	make("closed/a", "kept", 0644);
	make("closed/stream", "", 0666);
	make("read_only", "kept", 0444);
	cr_assert(!chmod("closed", 0555) && !chmod(folder, 0777));
	if (!geteuid())
		cr_assert(!setegid(1) && !seteuid(1)); /* root has every right */
	cr_assert(refused("closed/a", strerror(EACCES)) && refused("closed/b", strerror(EACCES)));
	cr_assert(refused("read_only", strerror(EACCES)) && outfile_check_stream("read_only", &error));
	cr_assert(refused("closed/stream", strerror(EACCES)) && !outfile_check_stream("closed/stream", &error));
	cr_assert(outfile_check_stream("closed/new", &error));
	cr_assert(holds("closed/a", "kept") && holds("read_only", "kept"));
	if (!getuid())
		cr_assert(!seteuid(0) && !setegid(0));
	cr_assert(!chmod("closed", 0755));
}

CASE(a_fresh_file_replaces_nothing)
{
	struct outfile_options fresh = {.fresh = true, .mode = 0600};
	cr_assert(!outfile_replace("key", "one", 3, &fresh, &error) && holds("key", "one"));
	cr_assert_eq(mode_of("key"), S_IFREG | 0600);
	cr_assert_eq(outfile_replace("key", "two", 3, &fresh, &error), TROUPE_EIO);
	cr_assert(strstr(error.text, "the file exists") && holds("key", "one"));
	cr_assert_eq(outfile_replace("/dev/null", "two", 3, &fresh, &error), TROUPE_EIO);
	cr_assert_eq(count_names("."), 1);
}

/* --- temporary files ---------------------------------------------------------------------------------------------- */

static void name_temporary(const char *name, unsigned number, char ret_name[80])
{
	(void)snprintf(ret_name, 80, ".troupe-%016" PRIx64 "-%u.tmp", hash_bytes(1, name, strlen(name)), number);
}

CASE(temporary_files_of_the_dead_are_removed)
{
	char same[80], other[80];
	name_temporary("a", 0, same);
	name_temporary("b", 3, other);
	make("a", "old", 0600);
	make(same, "cut off", 0600);
	make(other, "cut off", 0600);
	make(".troupe-notes.tmp", "somebody's", 0600);
	cr_assert(replaces("a", "new") && holds("a", "new"));
	cr_assert(access(same, F_OK) && !access(other, F_OK), "the temporary file of the same name is removed");
	make(same, "cut off", 0600);
	cr_assert(may_be_written("c"));
	cr_assert(access(same, F_OK) && access(other, F_OK),
		"before a run all temporary files of the folder are removed");
	cr_assert(!access(".troupe-notes.tmp", F_OK));
}

CASE(temporary_files_of_the_living_stay)
{
	char first[80], second[80];
	name_temporary("a", 0, first);
	name_temporary("a", 1, second);
	make("a", "old", 0600);
	make(first, "being written", 0600);
	cr_assert(!mkfifo(second, 0600), "a pipe is no file that is left over");
	int file = open(first, O_RDONLY);
	cr_assert(!flock(file, LOCK_EX));
	cr_assert(may_be_written("a") && replaces("a", "new") && holds("a", "new") && holds(first, "being written"));
	cr_assert(S_ISFIFO(mode_of(second)));
	close(file);
	cr_assert(may_be_written("a") && access(first, F_OK));
	cr_assert_eq(count_names("."), 2);
}

/* --- signals, and being in a hurry -------------------------------------------------------------------------------- */

CASE(a_signal_does_not_end_the_process)
{
	struct rlimit limit = {100, RLIM_INFINITY};
	char bytes[200] = {0};
	int ends[2];
	sigset_t pending;
	cr_assert(signal(SIGPIPE, SIG_DFL) != SIG_ERR && signal(SIGXFSZ, SIG_DFL) != SIG_ERR);
	cr_assert(!pipe(ends) && !close(ends[0]));
	cr_assert_eq(outfile_put(ends[1], "x", 1, &(struct outfile_options){0}), EPIPE);
	make("a", "kept", 0600);
	struct outfile stream = {0};
	cr_assert(!outfile_open(&stream, "b", NULL, &error));
	cr_assert(!setrlimit(RLIMIT_FSIZE, &limit));
	cr_assert(outfile_replace("a", bytes, sizeof bytes, NULL, &error) && strstr(error.text, strerror(EFBIG)));
	cr_assert_eq(outfile_write(&stream, bytes, sizeof bytes), EFBIG);
	limit.rlim_cur = RLIM_INFINITY;
	cr_assert(!setrlimit(RLIMIT_FSIZE, &limit) && holds("a", "kept"));
	cr_assert_eq(outfile_close(&stream), 0);
	cr_assert_eq(count_names("."), 2);
	cr_assert(!sigpending(&pending) && !sigismember(&pending, SIGPIPE) && !sigismember(&pending, SIGXFSZ));
	cr_assert(!pthread_sigmask(SIG_BLOCK, NULL, &pending) && !sigismember(&pending, SIGPIPE));
}

CASE(a_signal_that_was_pending_stays)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	raise(SIGPIPE);
	cr_assert(replaces("a", "x") && !sigpending(&set) && sigismember(&set, SIGPIPE));
}

struct hurry {
	uint32_t asked, patient; /* times */
	enum outfile_urgency then;
};

static enum outfile_urgency urgency(void *ctx)
{
	struct hurry *hurry = ctx;
	return hurry->asked++ < hurry->patient ? OUTFILE_PATIENT : hurry->then;
}

CASE(in_a_hurry_no_reader_is_waited_for)
{
	struct hurry hurry = {.patient = 4, .then = OUTFILE_HURRIED};
	struct outfile_options options = {.urgency = urgency, .ctx = &hurry};
	cr_assert(!mkfifo("pipe", 0600));
	cr_assert(outfile_replace("pipe", "x", 1, &options, &error) && strstr(error.text, "no process reads it"));
	cr_assert(hurry.asked > hurry.patient);
	int file = open("pipe", O_RDWR); /* a reader that does not read */
	char *bytes = mem_alloc(1 << 20);
	hurry.asked = 0;
	cr_assert(
		outfile_replace("pipe", bytes, 1 << 20, &options, &error) && strstr(error.text, "no process reads it"));
	hurry.asked = 0;
	hurry.then = OUTFILE_HURRIED;
	cr_assert(!outfile_replace("a", bytes, 1 << 20, &options, &error), "a file is finished");
	free(bytes);
	close(file);
}

CASE(in_the_middle_a_file_is_given_up)
{
	size_t count = 20 << 20;
	char *bytes = mem_alloc(count);
	struct hurry hurry = {.patient = 2, .then = OUTFILE_LEAVING};
	struct outfile_options options = {.urgency = urgency, .ctx = &hurry};
	make("a", "kept", 0600);
	cr_assert_eq(outfile_replace("a", bytes, count, &options, &error), TROUPE_EIO);
	cr_assert(strstr(error.text, "given up") && holds("a", "kept"));
	cr_assert_eq(count_names("."), 1);
	free(bytes);
}

/* --- streams, and comparing --------------------------------------------------------------------------------------- */

CASE(a_stream_is_written_on)
{
	struct outfile out = {0};
	make("a", "something longer", 0640);
	cr_assert(!outfile_is_open(&out));
	cr_assert(!outfile_open(&out, "a", NULL, &error) && outfile_is_open(&out) && holds("a", ""));
	cr_assert(!outfile_write(&out, "one ", 4) && holds("a", "one ") && !outfile_write(&out, "two", 3));
	cr_assert(!outfile_close(&out) && !outfile_is_open(&out) && !outfile_close(&out) && holds("a", "one two"));
	cr_assert_eq(mode_of("a"), S_IFREG | 0640);
	cr_assert(!symlink("to", "link") && !outfile_open(&out, "link", NULL, &error) && !outfile_close(&out));
	cr_assert(!access("to", F_OK) && S_ISLNK(mode_of("link")));
	cr_assert(
		!outfile_open(&out, "/dev/null", NULL, &error) && !outfile_write(&out, "x", 1) && !outfile_close(&out));
	cr_assert_eq(outfile_open(&out, ".", NULL, &error), TROUPE_EIO);
	cr_assert_eq(outfile_open(&out, "no/a", NULL, &error), TROUPE_EIO);
	cr_assert(!outfile_is_open(&out));
}

CASE(two_names_of_one_file)
{
	make("a", "", 0600);
	cr_assert(!symlink("a", "b") && !link("a", "c") && !symlink("new", "d") && !mkdir("sub", 0755));
	cr_assert(outfile_same("a", "./a") && outfile_same("a", "b") && outfile_same("c", "sub/../b"));
	cr_assert(outfile_same("new", "./new") && outfile_same("new", "d"), "a file that does not exist yet");
	cr_assert(!outfile_same("a", "new") && !outfile_same("new", "sub/new") && !outfile_same("new", "newer"));
	cr_assert(!outfile_same("/dev/null", "/dev/null"), "two outputs may go to /dev/null");
	cr_assert(!outfile_same("no/a", "no/a"));
}

CASE(a_stream_is_written_over)
{
	struct outfile out = {0};
	cr_assert(!outfile_open(&out, "a", NULL, &error) && !outfile_write(&out, "abcdef", 6));
	cr_assert(!outfile_write_at(&out, 2, "XY", 2) && holds("a", "abXYef"));
	cr_assert(!outfile_write(&out, "Z", 1) && holds("a", "abXYZf"));
	cr_assert(!outfile_write_at(&out, 5, "gh", 2) && !outfile_close(&out) && holds("a", "abXYZgh"));
	cr_assert(!outfile_open(&out, "/dev/null", NULL, &error));
	cr_assert_eq(outfile_write_at(&out, 0, "x", 1), ESPIPE);
	cr_assert_eq(outfile_close(&out), 0);
}

/* --- two writers -------------------------------------------------------------------------------------------------- */

static const char other_run[] = "another run writes it: expected another name, or wait for the end of that run";

static bool says_other_run(const char *path)
{
	char *text = mem_printf("%s: cannot write: %s", path, other_run);
	bool says = error.status == TROUPE_EIO && !strcmp(error.text, text);
	free(text);
	return says;
}

CASE(a_stream_has_one_writer)
{
	struct outfile first = {0}, second = {0};
	cr_assert(!outfile_open(&first, "a", NULL, &error) && !outfile_write(&first, "kept", 4));
	cr_assert(outfile_open(&second, "a", NULL, &error) && says_other_run("a"));
	cr_assert(outfile_check_stream("a", &error) && says_other_run("a"));
	cr_assert(!symlink("a", "link") && outfile_open(&second, "link", NULL, &error), "%s", error.text);
	cr_assert(!outfile_write(&first, " whole", 6) && !outfile_close(&first));
	char *text;
	size_t count;
	cr_assert(!infile_read("a", 100, &text, &count, &error) && !strcmp(text, "kept whole"), "%s", text);
	free(text);
	cr_assert(!outfile_open(&second, "a", NULL, &error) && !outfile_close(&second));
}

CASE(a_claimed_name_has_one_writer)
{
	struct outfile_claim first = {0}, second = {0}, other = {0};
	struct outfile stream = {0};
	cr_assert(!outfile_claim(&first, "a", &error));
	cr_assert(outfile_claim(&second, "a", &error) && says_other_run("a"));
	cr_assert(outfile_claim(&second, "./a", &error) && !outfile_claim(&other, "b", &error));
	cr_assert(replaces("a", "text"), "the claim does not hinder its owner: %s", error.text);
	cr_assert(outfile_claim(&second, "a", &error), "a file that was replaced is still claimed");
	outfile_release(&first);
	cr_assert(!outfile_claim(&second, "a", &error), "%s", error.text);
	outfile_release(&second);
	outfile_release(&other);
	cr_assert(!mkdir("c", 0777) && !outfile_claim_folder(&first, "c", &error));
	cr_assert(outfile_claim_folder(&second, "c", &error));
	outfile_release(&first);
	cr_assert(!outfile_claim(&first, "/dev/null", &error) && !outfile_claim(&second, "/dev/null", &error));
	outfile_release(&first);
	outfile_release(&second);
	cr_assert(!outfile_open(&stream, "a", NULL, &error) && !outfile_close(&stream));
	DIR *all = opendir(".");
	for (const struct dirent *entry; (entry = readdir(all));)
		cr_assert(strncmp(entry->d_name, ".troupe", 7), "%s is left", entry->d_name);
	closedir(all);
}

/* The claim of a process that was killed holds nobody up. */
CASE(a_claim_ends_with_its_process)
{
	struct outfile_claim claim = {0};
	pid_t child = fork();
	if (!child)
		_exit(outfile_claim(&claim, "a", &error) ? 1 : 0);
	int status;
	cr_assert(waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status));
	cr_assert(!outfile_claim(&claim, "a", &error), "%s", error.text);
	outfile_release(&claim);
}
