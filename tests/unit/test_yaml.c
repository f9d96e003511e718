/* The part of YAML that files of parameters of ROS are written in. Each text is read as a tree that is printed in one
 * form, NAME(children) or NAME=text. Without this a controller would have another parameter than in ROS, or a damaged
 * file would be read as something else, or as deep as it likes. */
#include "sdf/yaml.h"

#include "base/text.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

TestSuite(yaml, .timeout = 60);

static void yaml_print(const struct sdf_element *element, struct text *out)
{
	for (const struct sdf_element *at = element->child; at; at = at->next) {
		text_add(out, "%s%s", at == element->child ? "" : " ", at->name);
		if (at->child) {
			text_add(out, "(");
			yaml_print(at, out);
			text_add(out, ")");
		} else {
			text_add(out, "=%s", at->text);
		}
	}
}

/* Reads a copy of a text that ends where memory ends: who reads on behind it is told by a signal. */
static troupe_status yaml_read(struct arena *arena, const char *text, size_t bytes, const struct sdf_element **ret_root,
	struct troupe_error *error)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (bytes / page + 1) * page;
	char *memory = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert(memory != MAP_FAILED && !mprotect(memory + room, page, PROT_NONE));
	char *copy = memory + room - bytes - 1;
	memcpy(copy, text, bytes + 1);
	troupe_status status = yaml_parse(arena, copy, bytes, "p.yaml", ret_root, error);
	munmap(memory, room + page);
	return status;
}

static void yaml_good(const char *text, const char *expected)
{
	struct arena arena = {0};
	struct troupe_error error = {0};
	struct text out = {0};
	const struct sdf_element *root = NULL;
	cr_assert_eq(yaml_read(&arena, text, strlen(text), &root, &error), TROUPE_OK, "%s: %s", text, error.text);
	yaml_print(root, &out);
	cr_assert_str_eq(out.at ? out.at : "", expected, "%s\nis read as %s\nnot as  %s", text, out.at ? out.at : "", expected);
	text_fini(&out);
	arena_fini(&arena);
}

static void yaml_bad(const char *text, const char *expected)
{
	struct arena arena = {0};
	struct troupe_error error = {0};
	const struct sdf_element *root = NULL;
	cr_assert_neq(yaml_read(&arena, text, strlen(text), &root, &error), TROUPE_OK, "accepted: %s", text);
	cr_assert(!strncmp(error.text, expected, strlen(expected)), "'%s' instead of '%s' for %s", error.text, expected, text);
	arena_fini(&arena);
}

Test(yaml, maps)
{
	yaml_good("", "");
	yaml_good("# only a comment\n\n", "");
	yaml_good("a: 1\nb: two words # comment\nc:\n", "a=1 b=two words c=");
	yaml_good("a:\n  b:\n    c: 1\n  d: 2\ne: 3", "a(b(c=1) d=2) e=3");
	yaml_good("---\n/**:\n  ros__parameters:\n    linear.x.max: 1.0\n", "/**(ros__parameters(linear.x.max=1.0))");
	yaml_good("a: x#y\nb: 'it''s # no comment'\n\"c d\": \"1\\\"\\n\"\n", "a=x#y b=it's # no comment c d=1\"\n");
	yaml_good("a: \"\\x41\\u00e9\\u20ac\\U0001F600\\/\\ \\\\\\t|\"\n",
		"a=A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80/ \\\t|");
	yaml_good("a: \"one \\\n   two\\\r\n\tthree\"\nb: 2\n", "a=one twothree b=2");
	yaml_good("a: 'C:\\x'\n", "a=C:\\x");
	yaml_good("a: pkg::Type\r\nb: 2\r\n", "a=pkg::Type b=2");
	yaml_good("  a: 1\n  b: 2\n", "a=1 b=2");
}

Test(yaml, lists)
{
	yaml_good("a:\n  - x\n  - y\nb: 1\n", "a(item=x item=y) b=1");
	yaml_good("a:\n- x\n- y\nb: 1\n", "a(item=x item=y) b=1");
	yaml_good("a: [x, 'y, z', 3.0]\n", "a(item=x item=y, z item=3.0)");
	yaml_good("a: [1, 2,\n    3,  # three\n    4]\nb: 1\n", "a(item=1 item=2 item=3 item=4) b=1");
	yaml_good("a: {p: 1, i: 0.5, d: {q: [1]}}\n", "a(p=1 i=0.5 d(q(item=1)))");
	yaml_good("a: []\nb: {}\n", "a= b=");
	yaml_good("- a: 1\n  b: 2\n- c\n-\n  d: 3\n", "item(a=1 b=2) item=c item(d=3)");
}

Test(yaml, what_is_refused)
{
	yaml_bad("a: &x 1\n", "p.yaml:1: an anchor");
	yaml_bad("a: 1\nb: *x\n", "p.yaml:2: an anchor");
	yaml_bad("a: |\n  text\n", "p.yaml:1: an anchor");
	yaml_bad("a: !!int 1\n", "p.yaml:1: an anchor");
	yaml_bad("a: - 1\n", "p.yaml:1: an anchor");
	yaml_bad("a:\n\tb: 1\n", "p.yaml:2: a tab");
	yaml_bad("a: 1\n---\nb: 2\n", "p.yaml:2: a second document");
	yaml_bad("a: 1\nb\n", "p.yaml:2: a line without a colon");
	yaml_bad("a: [1, 2\n", "p.yaml:2: brackets that do not end");
	yaml_bad("a: {1 2}\n", "p.yaml:1: a key in braces without a colon");
	for (const char *const *cut = (const char *const[]){"{", "a: {", "a: {b", "a: {'b'", "- {b", "a: [{b", NULL}; *cut; cut++)
		yaml_bad(*cut, "p.yaml:1: ");
	yaml_bad("a: 'x\n", "p.yaml:2: a quote that does not end");
	yaml_bad("a: 1\nb: \"\\q\"\n", "p.yaml:2: an escape in quotes");
	yaml_bad("a: 1\nb: \"\\x4\"\n", "p.yaml:2: an escape in quotes");
	yaml_bad("a: 1\nb: \"\\u0000\"\n", "p.yaml:2: an escape in quotes");
	yaml_bad("a: 1\nb: \"\\ud800\"\n", "p.yaml:2: an escape in quotes");
	yaml_bad("a: 1\nb: \"\\U00110000\"\n", "p.yaml:2: an escape in quotes");
	yaml_bad("a: \"x\\\n  y\"\nb\n", "p.yaml:3: a line without a colon");
	yaml_bad("a: 1\n  b: 2\n", "p.yaml:2: a line that is indented more");
	yaml_bad("  a: 1\nb: 2\n", "p.yaml:2: a line that is indented less");
	yaml_bad("a: [1] 2\n", "p.yaml:1: more behind a value");
	yaml_bad("a: 'x' y\n", "p.yaml:1: more behind a value");
}

Test(yaml, depth_is_limited)
{
	enum { LEVELS = 500 };
	struct text brackets = {0}, blocks = {0};
	text_add(&brackets, "a: ");
	for (int i = 0; i < LEVELS; i++) {
		text_add(&brackets, "[");
		text_add(&blocks, "%*sa:\n", i, "");
	}
	yaml_bad(brackets.at, "p.yaml:1: too many levels");
	yaml_bad(blocks.at, "p.yaml:65: too many levels");
	text_fini(&brackets);
	text_fini(&blocks);
}

/* A text with one byte changed is read or refused; a sanitizer sees what else could happen. */
Test(yaml, damaged_texts_do_no_harm)
{
	static const char text[] = "a: {p: [1, 'x'], q: \"y\\n\"} # c\nb:\n  - c: 1\n    d: [1,\n 2]\n  - e\n---\n";
	static const char bytes[] = "\n\t -:#[]{},'\"\\&x\r";
	char damaged[sizeof text];
	for (size_t i = 0; i < sizeof text; i++)
		for (size_t k = 0; k < sizeof bytes; k++) {
			struct arena arena = {0};
			const struct sdf_element *root = NULL;
			memcpy(damaged, text, sizeof text);
			damaged[i] = bytes[k];
			damaged[sizeof text - 1] = '\0';
			(void)yaml_read(&arena, damaged, strlen(damaged), &root, NULL);
			arena_fini(&arena);
		}
}

/* What a file has behind a zero byte is not left out without a word. */
Test(yaml, zero_bytes)
{
	static const char text[] = "a: 1\n\0b: 2\n";
	struct arena arena = {0};
	struct troupe_error error = {0};
	const struct sdf_element *root = NULL;
	cr_assert_eq(yaml_read(&arena, text, sizeof text - 1, &root, &error), TROUPE_EWORLD);
	cr_assert_str_eq(error.text, "p.yaml: a zero byte: expected text");
	arena_fini(&arena);
}
