/* Programs that a file names (program/program.h), and the lines that they write (cli/program_lines.h). Names: whatever
 * the models and files are called, each program has a name of its own that a barrier client can have. Lines: whatever
 * the pieces in which output comes, the lines are the same, and nothing grows. */
#include "cli/program_lines.h"
#include "program/program.h"

#include <troupe/barrier.h>

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(programs, .timeout = 30);

static struct sdf *load(const struct text *text)
{
	struct sdf *sdf = NULL;
	struct troupe_error error;
	cr_assert_eq(sdf_load_text(text->at, text->count, "p.sdf", NULL, &sdf, &error), TROUPE_OK, "%s", error.text);
	return sdf;
}

static void add_program(struct text *text, const char *elements)
{
	text_add(text, "<plugin filename='troupe' name='" PROGRAM_PLUGIN "'>%s</plugin>", elements);
}

static struct program_list read_good(struct sdf *sdf)
{
	struct program_list list;
	struct troupe_error error;
	cr_assert_eq(programs_read(sdf, NULL, NULL, &list, &error), TROUPE_OK, "%s", error.text);
	return list;
}

Test(programs, are_read)
{
	struct text text = {0};
	text_add(&text, "<sdf version='1.9'><world name='v'/><world name='w'>");
	add_program(&text, "<executable> bin/drive </executable><arg>a</arg><arg/><restart>on-failure</restart>");
	text_add(&text, "<model name='out'><link name='l'/><model name='in'><link name='l'>");
	add_program(&text, "<executable>drive</executable><name>d</name><restart>never</restart>");
	text_add(&text, "</link></model></model></world></sdf>");
	struct sdf *sdf = load(&text);
	struct program_list list = read_good(sdf);
	sdf_free(sdf); /* the list has its own copies */
	cr_assert_eq(list.count, 2);
	const struct troupe_program *nested = strcmp(list.at[0].name, "drive") ? &list.at[0] : &list.at[1];
	const struct troupe_program *own = nested == list.at ? &list.at[1] : &list.at[0];
	cr_assert_str_eq(own->name, "drive");
	cr_assert_str_eq(own->world, "w");
	cr_assert_null(own->model);
	cr_assert_str_eq(own->file, "p.sdf");
	cr_assert_eq(own->line, 1);
	cr_assert_str_eq(own->executable, "bin/drive");
	cr_assert_str_eq(own->args[0], "a");
	cr_assert_str_eq(own->args[1], "");
	cr_assert_null(own->args[2]);
	cr_assert(own->restarts);
	cr_assert_str_eq(nested->name, "out.in.d");
	cr_assert_str_eq(nested->model, "out::in");
	cr_assert_null(nested->args[0]);
	cr_assert(!nested->restarts);
	programs_fini(&list);
	text_fini(&text);
}

static bool is_client_name(const char *name)
{
	size_t length = strlen(name);
	return length && length <= TROUPE_BARRIER_NAME_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") == length;
}

/* Names that are cut, replaced and the same. */
Test(programs, have_names_of_their_own)
{
	static const char *const models[] = {NULL, "m", "m m", "m_m", "\xc3\xa9\xc3\xa9",
		"a-model-with-a-name-that-is-longer-than-the-name-of-a-client-may-be-1",
		"a-model-with-a-name-that-is-longer-than-the-name-of-a-client-may-be-2"};
	static const char *const files[] = {"drive", "./drive", "dr ive", "dr_ive", "/\xc3\xa9",
		"a/b/a-file-with-a-name-that-is-longer-than-the-name-of-a-client-may-be-1",
		"a/b/a-file-with-a-name-that-is-longer-than-the-name-of-a-client-may-be-2"};
	_Static_assert(ARRAY_LEN(models) * ARRAY_LEN(files) <= TROUPE_PROGRAMS_MAX, "not one too many");
	struct text text = {0};
	text_add(&text, "<?xml version='1.0' encoding='UTF-8'?><sdf version='1.9'><world name='w'>");
	for (size_t m = 0; m < ARRAY_LEN(models); m++) {
		if (models[m])
			text_add(&text, "<model name='%s'><link name='l'/>", models[m]);
		for (size_t f = 0; f < ARRAY_LEN(files); f++) {
			char elements[200];
			(void)snprintf(elements, sizeof elements, "<executable>%s</executable>", files[f]);
			add_program(&text, elements);
		}
		text_add(&text, "%s", models[m] ? "</model>" : "");
	}
	text_add(&text, "</world></sdf>");
	struct sdf *sdf = load(&text);
	struct program_list list = read_good(sdf);
	cr_assert_eq(list.count, ARRAY_LEN(models) * ARRAY_LEN(files));
	for (uint32_t i = 0; i < list.count; i++) {
		cr_assert(is_client_name(list.at[i].name), "'%s'", list.at[i].name);
		for (uint32_t k = 0; k < i; k++)
			cr_assert_str_neq(list.at[i].name, list.at[k].name);
	}
	programs_fini(&list);
	sdf_free(sdf);
	text_fini(&text);
}

static void count_error(void *ctx, const char *text)
{
	uint32_t *count = ctx;
	cr_assert_eq(strncmp(text, "p.sdf:1: ", 9), 0, "%s", text);
	++*count;
}

Test(programs, all_errors_are_told)
{
	struct text text = {0};
	struct program_list list;
	struct troupe_error error;
	uint32_t count = 0;
	text_add(&text, "<sdf version='1.9'><world name='w'>");
	add_program(&text, "");
	add_program(&text, "<executable>a</executable>");
	add_program(&text, "<executable>a</executable><restart>x</restart>");
	text_add(&text, "</world></sdf>");
	struct sdf *sdf = load(&text);
	cr_assert_eq(programs_read(sdf, count_error, &count, &list, &error), TROUPE_EWORLD);
	cr_assert_eq(count, 2);
	cr_assert(strstr(error.text, "without <executable>"), "%s", error.text);
	sdf_free(sdf);
	text_fini(&text);
}

Test(programs, what_a_program_cannot_have_is_told_with_its_place)
{
	static const char *const rows[][2] = {
		{"\n<argument>x</argument>", "p.sdf:2: <argument> in the plug-in " PROGRAM_PLUGIN
					     ": expected executable, arg, name or restart"},
		{"<name>a</name>\n<name>b</name>", "p.sdf:2: a second <name> of a program: expected one"},
		{"<arg>a</arg>\n<arg><x/></arg>", "p.sdf:2: <arg> of a program has elements in it: expected only text"},
		{"<restart>always</restart>\n<restart>never</restart>", "p.sdf:2: a second <restart> of a program: expected one"}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct text text = {0};
		struct program_list list;
		struct troupe_error error;
		char *elements = mem_printf("<executable>a</executable>%s", rows[i][0]);
		text_add(&text, "<sdf version='1.9'><world name='w'>");
		add_program(&text, elements);
		text_add(&text, "</world></sdf>");
		struct sdf *sdf = load(&text);
		cr_assert_eq(programs_read(sdf, NULL, NULL, &list, &error), TROUPE_EWORLD, "%zu", i);
		cr_expect(!strncmp(error.text, rows[i][1], strlen(rows[i][1])), "%s\nwant %s", error.text, rows[i][1]);
		sdf_free(sdf);
		text_fini(&text);
		free(elements);
	}
}

/* --- lines -------------------------------------------------------------------------------------------------------- */

struct reader {
	struct text all;
	bool refuses;
	size_t longest;
};

static bool put(void *ctx, const char *bytes, size_t count)
{
	struct reader *reader = ctx;
	if (reader->refuses)
		return false;
	cr_assert_eq(bytes[count - 1], '\n');
	reader->longest = MAX(reader->longest, count);
	text_add_bytes(&reader->all, bytes, count);
	return true;
}

static void write_in_pieces(const char *bytes, size_t count, size_t piece, struct reader *reader)
{
	struct program_lines lines = {.name = "p", .put = put, .ctx = reader};
	for (size_t i = 0; i < count; i += piece)
		program_lines_take(&lines, bytes + i, MIN(piece, count - i), 1);
	program_lines_end(&lines, 1);
}

Test(program_lines, do_not_depend_on_pieces)
{
	struct text text = {0}, want = {0};
	text_add(&text, "one\n\ntwo\r\na\x1b[1m\tb\n");
	text_add(&want, "[p] one\n[p] \n[p] two\n[p] a?[1m\tb\n[p] ");
	for (int i = 0; i < PROGRAM_LINE_MAX + 7; i++) {
		text_add(&text, "x");
		text_add(&want, "%s", i < PROGRAM_LINE_MAX ? "x" : "");
	}
	text_add(&want, "... (7 bytes more)\n[p] end\n");
	text_add(&text, "\nend");
	for (size_t piece = 1; piece <= text.count; piece++) {
		struct reader reader = {0};
		write_in_pieces(text.at, text.count, piece, &reader);
		cr_assert_str_eq(reader.all.at, want.at, "pieces of %zu", piece);
		text_fini(&reader.all);
	}
	text_fini(&text);
	text_fini(&want);
}

static uint32_t count_of(const char *text, const char *what)
{
	uint32_t count = 0;
	for (; (text = strstr(text, what)); text++)
		count++;
	return count;
}

Test(program_lines, are_limited_in_a_second)
{
	const uint64_t second_ns = 1000000000;
	struct reader reader = {0};
	struct program_lines lines = {.name = "p", .put = put, .ctx = &reader};
	uint32_t more = 5;
	for (uint32_t i = 0; i < PROGRAM_LINES_PER_S_MAX + more; i++)
		program_lines_take(&lines, "x\n", 2, second_ns);
	cr_assert_eq(count_of(reader.all.at, "[p] x\n"), PROGRAM_LINES_PER_S_MAX);
	program_lines_take(&lines, "y\n", 2, 2 * second_ns);
	cr_assert(strstr(reader.all.at, "[p] (5 lines left out)\n[p] y\n"));
	/* nobody reads: nothing is kept but the number */
	reader.refuses = true;
	for (uint32_t i = 0; i < 3; i++)
		program_lines_take(&lines, "z\n", 2, 2 * second_ns);
	reader.refuses = false;
	program_lines_end(&lines, 2 * second_ns);
	cr_assert(strstr(reader.all.at, "[p] y\n[p] (3 lines left out)\n"));
	cr_assert_eq(count_of(reader.all.at, "z"), 0);
	text_fini(&reader.all);
}
