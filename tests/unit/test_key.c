/* Key files: where they are, which are refused, and why: a secret that others can read, what is no plain file, and
 * bytes that are no key; what is refused leaves the file as it was. */
#include "net/key.h"
#include "net/tcp/tls.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(key, .timeout = 60);

static char *key_test_folder(void)
{
	char *folder = mem_strdup("/tmp/test_key.XXXXXX");
	cr_assert(mkdtemp(folder));
	return folder;
}

static void key_test_write(const char *path, const char *text, size_t count, mode_t mode)
{
	FILE *file = fopen(path, "we");
	cr_assert(file && fwrite(text, 1, count, file) == count && !fclose(file) && !chmod(path, mode));
}

static void key_test_refused(const char *path, troupe_status status, const char *words)
{
	struct key key;
	struct troupe_error error = {0};
	cr_assert_eq(key_read(path, &key, &error), status, "%s: %s", words, error.text);
	cr_assert(strstr(error.text, words) && strstr(error.text, path), "%s: expected %s", error.text, words);
}

static void key_test_remove(char *folder, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *path = mem_printf("%s/%s", folder, names[i]);
		cr_assert_eq(remove(path), 0, "%s", path);
		free(path);
	}
	cr_assert_eq(rmdir(folder), 0);
	free(folder);
}

Test(key, two_keys_that_were_made)
{
	char *folder = key_test_folder(), *paths[2];
	struct key keys[2], again;
	struct troupe_error error = {0};
	for (int i = 0; i < 2; i++) {
		struct stat info;
		paths[i] = mem_printf("%s/a/b%d/key", folder, i);
		cr_assert_eq(key_create(paths[i], &error), TROUPE_OK, "%s", error.text);
		cr_assert(!stat(paths[i], &info) && (info.st_mode & 07777) == 0600);
		cr_assert_eq(key_read(paths[i], &keys[i], &error), TROUPE_OK, "%s", error.text);
		cr_assert_eq(key_create(paths[i], &error), TROUPE_EIO, "a key was replaced");
		cr_assert_eq(key_read(paths[i], &again, &error), TROUPE_OK);
		cr_assert(!memcmp(&again, &keys[i], sizeof again), "it has changed");
	}
	cr_assert(memcmp(&keys[0], &keys[1], sizeof keys[0]) != 0, "two keys are equal");
	key_forget(&keys[0]);
	for (int i = 0; i < KEY_BYTES; i++)
		cr_assert_eq(keys[0].bytes[i], 0);
	static const char *const names[] = {"a/b0/key", "a/b1/key", "a/b0", "a/b1", "a"};
	key_test_remove(folder, names, ARRAY_LEN(names));
	free(paths[0]);
	free(paths[1]);
}

Test(key, bytes_that_are_no_key)
{
	char *folder = key_test_folder(), *path = mem_printf("%s/key", folder);
	struct key key;
	struct troupe_error error = {0};
	char good[] = "troupe key 1 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n";
	const size_t count = sizeof good - 1, last = count - 2;
	key_test_write(path, good, count, 0600);
	cr_assert_eq(key_read(path, &key, &error), TROUPE_OK, "%s", error.text);
	cr_assert(key.bytes[0] == 0x01 && key.bytes[KEY_BYTES - 1] == 0xef && key.bytes[5] == 0xab);
	const struct {
		size_t at;
		char c;
	} wrong[] = {{0, 'T'}, {11, '2'}, {13, 'g'}, {14, 'A'}, {last, 'g'}, {last - 1, '\0'}, {count - 1, ' '}};
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		char was = good[wrong[i].at];
		good[wrong[i].at] = wrong[i].c;
		key_test_write(path, good, count, 0600);
		key_test_refused(path, TROUPE_EINVAL, "not a key: expected a file written by troupe keygen");
		good[wrong[i].at] = was;
	}
	key_test_write(path, good, count - 1, 0600);
	key_test_refused(path, TROUPE_EINVAL, "not a key");
	good[count] = '\n'; /* one byte more, in place of the 0 */
	key_test_write(path, good, count + 1, 0600);
	key_test_refused(path, TROUPE_EINVAL, "not a key");
	key_test_write(path, "", 0, 0600);
	key_test_refused(path, TROUPE_EINVAL, "not a key");
	static const char *const names[] = {"key"};
	key_test_remove(folder, names, ARRAY_LEN(names));
	free(path);
}

Test(key, files_that_are_refused)
{
	char *folder = key_test_folder(), *path = mem_printf("%s/key", folder), *pipe = mem_printf("%s/pipe", folder);
	struct troupe_error error = {0};
	key_test_refused(path, TROUPE_EIO, "cannot open: No such file");
	key_test_refused(folder, TROUPE_EIO, "not a plain file");
	cr_assert_eq(mkfifo(pipe, 0600), 0);
	key_test_refused(pipe, TROUPE_EIO, "not a plain file");
	cr_assert_eq(key_create(path, &error), TROUPE_OK);
	static const mode_t modes[] = {0640, 0604, 0610, 0620, 0601, 0602, 0644};
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		char words[64];
		cr_assert_eq(chmod(path, modes[i]), 0);
		(void)snprintf(words, sizeof words, "other users may read it (mode %04o)", (unsigned)modes[i]);
		key_test_refused(path, TROUPE_EIO, words);
	}
	struct key key;
	cr_assert_eq(chmod(path, 0400), 0);
	cr_assert_eq(key_read(path, &key, &error), TROUPE_OK, "less than 0600 is fine: %s", error.text);
	if (!geteuid()) { /* of another user than this one and root */
		cr_assert_eq(seteuid(65534), 0);
		cr_assert_neq(key_read(path, &key, &error), TROUPE_OK);
		cr_assert_eq(seteuid(0), 0);
		cr_assert_eq(chown(path, 65533, (gid_t)-1), 0);
		key_test_refused(path, TROUPE_EIO, "belongs to another user");
	}
	char *below = mem_printf("%s/below", path);
	cr_assert_eq(key_create(below, &error), TROUPE_EIO, "a folder that is a file");
	free(below);
	below = mem_printf("%s/below/key", path);
	cr_assert_eq(key_create(below, &error), TROUPE_EIO);
	cr_assert(strstr(error.text, "cannot create the folder: Not a directory"), "%s", error.text);
	free(below);
	static const char *const names[] = {"key", "pipe"};
	key_test_remove(folder, names, ARRAY_LEN(names));
	free(path);
	free(pipe);
}

Test(key, where_the_usual_key_is)
{
	char *folder = key_test_folder(), *other = mem_printf("%s/other", folder), *path = NULL;
	struct key key, usual;
	bool found = true;
	struct troupe_error error = {0};
	const struct {
		const char *config, *home, *path;
	} cases[] = {{"/c", "/h", "/c/troupe/key"}, {"c", "/h", "/h/.config/troupe/key"},
		{"", "/h", "/h/.config/troupe/key"}, {NULL, "/h", "/h/.config/troupe/key"}, {NULL, "", NULL},
		{"c", NULL, NULL}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		(void)(cases[i].config ? setenv("XDG_CONFIG_HOME", cases[i].config, 1) : unsetenv("XDG_CONFIG_HOME"));
		(void)(cases[i].home ? setenv("HOME", cases[i].home, 1) : unsetenv("HOME"));
		path = key_default_path();
		cr_assert(cases[i].path ? path && !strcmp(path, cases[i].path) : !path, "case %zu: %s", i, path);
		free(path);
	}
	cr_assert(key_find(NULL, false, &key, &found, &error) == TROUPE_OK && !found, "without a place for it");
	cr_assert_eq(setenv("XDG_CONFIG_HOME", folder, 1), 0);
	cr_assert(key_find(NULL, false, &key, &found, &error) == TROUPE_OK && !found, "there is none yet");
	path = key_default_path();
	cr_assert_eq(key_create(path, &error), TROUPE_OK);
	cr_assert_eq(key_create(other, &error), TROUPE_OK);
	cr_assert(key_find(NULL, false, &usual, &found, &error) == TROUPE_OK && found);
	cr_assert(key_find(NULL, true, &key, &found, &error) == TROUPE_OK && !found, "no key is wanted");
	cr_assert(key_find(other, false, &key, &found, &error) == TROUPE_OK && found);
	cr_assert(memcmp(&key, &usual, sizeof key) != 0, "the one that is given counts");
	cr_assert_eq(chmod(path, 0644), 0);
	cr_assert_eq(key_find(NULL, false, &key, &found, &error), TROUPE_EIO, "a bad usual key is no missing one");
	cr_assert_eq(
		key_find("/nowhere/key", true, &key, &found, &error), TROUPE_EIO, "a key that is given must be there");
	static const char *const names[] = {"troupe/key", "troupe", "other"};
	key_test_remove(folder, names, ARRAY_LEN(names));
	free(path);
	free(other);
}

/* Files of a certificate that are missing, or none: both are named, and nothing is left. */
Test(key, certificates_that_are_none)
{
	if (!key_usable())
		return;
	char *folder = key_test_folder(), *path = mem_printf("%s/none.pem", folder);
	struct tls_context *context = NULL;
	struct troupe_error error = {0};
	for (int there = 0; there < 2; there++) {
		if (there)
			key_test_write(path, "no certificate\n", 15, 0600);
		cr_assert_eq(tls_context_of_certificate(path, "/key.pem", &context, &error), TROUPE_EINVAL);
		cr_assert(strstr(error.text, path) && strstr(error.text, ", /key.pem: cannot be used for TLS: error:"),
			"%s", error.text);
		cr_assert(!context);
	}
	/* what OpenSSL keeps of the failure is no failure of the next connection */
	const struct key key = {"a key that all of them have, ."};
	cr_assert_eq(tls_context_create(&key, &context, &error), TROUPE_OK, "%s", error.text);
	tls_context_drop(context);
	static const char *const names[] = {"none.pem"};
	key_test_remove(folder, names, ARRAY_LEN(names));
	free(path);
}
