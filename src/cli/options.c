/* Values are parsed into a union and stored afterwards. So all of a configuration file is checked, also the options
 * that the command line overrides. */
#include "cli/options.h"

#include "base/host_port.h"
#include "base/near.h"
#include "base/parse.h"
#include "cli/cli.h"
#include "sdf/config.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

struct options_parse {
	const struct options_command *command;
	void *settings;
	struct arena *arena;
	bool on_line[OPTIONS_MAX]; /* given on the command line */
	bool in_file[OPTIONS_MAX];
	bool help;
	struct troupe_error error; /* without the name of the command; EINVAL: wrong usage */
};

union option_value {
	bool flag;
	int64_t whole;
	double real;
	const char *text;
};

static troupe_status options_usage(struct options_parse *parse, const char *format, ...) TROUPE_PRINTF(2, 3);
static troupe_status options_usage(struct options_parse *parse, const char *format, ...)
{
	struct text text = {0};
	va_list args;
	va_start(args, format);
	struct troupe_error inner;
	fail_v(&inner, TROUPE_EINVAL, format, args);
	va_end(args);
	text_add(&text, "%s; see troupe %s --help", inner.text, parse->command->name);
	fail(&parse->error, TROUPE_EINVAL, "%s", text.at);
	text_fini(&text);
	return TROUPE_EINVAL;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

static bool options_has_blank(const char *text)
{
	for (; *text; text++)
		if (isspace((unsigned char)*text))
			return true;
	return false;
}

static const char *options_choices_of(const struct options_parse *parse, const struct option_spec *spec)
{
	return spec->list ? spec->list(parse->arena) : spec->choices;
}

/* The choice as spelled in `choices`; NULL: the word is none of them. */
static const char *options_find_choice(const struct options_parse *parse, const char *choices, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = choices; length && *at; at += strcspn(at, " "), at += *at == ' ')
		if (strcspn(at, " ") == length && !strncasecmp(at, word, length))
			return arena_printf(parse->arena, "%.*s", (int)length, at);
	return NULL;
}

/* "a, b or c" of "a b c" */
static const char *options_choices_in_words(const struct options_parse *parse, const char *choices)
{
	const char *words = "";
	for (const char *at = choices; *at; at += strcspn(at, " "), at += *at == ' ') {
		int length = (int)strcspn(at, " ");
		const char *before = at == choices ? "" : at[length] ? ", " : " or ";
		words = arena_printf(parse->arena, "%s%s%.*s", words, before, length, at);
	}
	return words;
}

static bool options_is_too_large(const char *text)
{
	int64_t value;
	return *text && !text[strspn(text, "0123456789")] && !parse_int64(text, &value);
}

/* The expected value instead of `text`, for an error message. */
static const char *options_expectation(
	const struct options_parse *parse, const struct option_spec *spec, const char *text)
{
	switch (spec->kind) {
	case OPTION_FLAG:
	case OPTION_UNFLAG:
	case OPTION_NOTHING:
		return "true or false";
	case OPTION_WHOLE:
		if (spec->hi > 1e15 && options_is_too_large(text))
			return arena_printf(parse->arena, "at most %" PRId64, INT64_MAX);
		if (spec->hi > 1e15)
			return arena_printf(parse->arena, "a whole number of %.0f or more", spec->lo);
		return arena_printf(parse->arena, "a whole number from %.0f to %.0f", spec->lo, spec->hi);
	case OPTION_REAL:
		return arena_printf(parse->arena, "a number from %g to %g", spec->lo, spec->hi);
	case OPTION_CHOICE:
		return options_choices_in_words(parse, options_choices_of(parse, spec));
	default:
		return spec->argument;
	}
}

static bool options_read_value(const struct options_parse *parse, const struct option_spec *spec, const char *text,
	union option_value *ret_value)
{
	union option_value value = {0};
	bool good = false;
	switch (spec->kind) {
	case OPTION_FLAG:
	case OPTION_UNFLAG:
	case OPTION_NOTHING:
		good = parse_bool(text, &value.flag);
		break;
	case OPTION_WHOLE:
		good = !options_has_blank(text) && parse_int64(text, &value.whole) && (double)value.whole >= spec->lo &&
		       (double)value.whole <= spec->hi;
		break;
	case OPTION_REAL:
		good = !options_has_blank(text) && parse_double(text, &value.real) && isfinite(value.real) &&
		       value.real >= spec->lo && value.real <= spec->hi;
		break;
	case OPTION_CHOICE:
		value.text = options_find_choice(parse, options_choices_of(parse, spec), text);
		good = value.text;
		break;
	default:
		value.text = text;
		good = *text;
	}
	if (good)
		*ret_value = value;
	return good;
}

static troupe_status options_store(
	struct options_parse *parse, const struct option_spec *spec, union option_value value)
{
	char *at = (char *)parse->settings + spec->offset;
	struct option_list *list;
	switch (spec->kind) {
	case OPTION_FLAG:
		*(bool *)(void *)at = value.flag;
		break;
	case OPTION_UNFLAG:
		*(bool *)(void *)at = !value.flag;
		break;
	case OPTION_WHOLE:
		*(int64_t *)(void *)at = value.whole;
		break;
	case OPTION_REAL:
		*(double *)(void *)at = value.real;
		break;
	case OPTION_OPERAND:
	case OPTION_TEXT:
	case OPTION_CONFIG:
	case OPTION_CHOICE:
		*(const char **)(void *)at = value.text;
		break;
	case OPTION_LIST:
	case OPTION_PAIR:
		list = (struct option_list *)(void *)at;
		if (list->count == OPTION_LIST_MAX)
			return fail(&parse->error, TROUPE_EINVAL, "--%s: given more than %d times", spec->name,
				OPTION_LIST_MAX);
		list->at[list->count++] = value.text;
		break;
	case OPTION_HELP:
		parse->help = true;
		break;
	case OPTION_NOTHING:
	case OPTION_HEADING:
	case OPTION_ABSENT:
		break;
	}
	return TROUPE_OK;
}

/* --- the command line --------------------------------------------------------------------------------------------- */

static const struct option_spec *options_find(const struct options_command *command, const char *name, size_t length)
{
	for (uint32_t i = 0; i < command->spec_count; i++) {
		const struct option_spec *spec = &command->specs[i];
		if (spec->name && spec->kind != OPTION_OPERAND && strlen(spec->name) == length &&
			!memcmp(spec->name, name, length))
			return spec;
	}
	return NULL;
}

static const struct option_spec *options_find_letter(const struct options_command *command, char letter)
{
	for (uint32_t i = 0; i < command->spec_count; i++)
		if (command->specs[i].letter == letter)
			return &command->specs[i];
	return NULL;
}

static bool options_looks_like_number(const char *word)
{
	return isdigit((unsigned char)*word) || ((*word == '-' || *word == '+') && isdigit((unsigned char)word[1]));
}

static bool options_looks_like(const char *word)
{
	return word[0] == '-' && word[1] == '-' && word[2];
}

static bool options_looks_like_address(const char *word)
{
	struct host_port parts;
	return host_port_read(word, &parts) && parts.has_port;
}

/* as: the option as it was given. value: the value joined to it, or NULL. *index: the index of the word; it is
 * advanced when the next word is the value. */
static troupe_status options_take(struct options_parse *parse, const struct option_spec *spec, const char *as,
	const char *value, int argc, char **argv, int *index)
{
	if (spec->kind == OPTION_ABSENT)
		return options_usage(parse, "%s: %s", as, spec->help);
	if (spec->with && (value || (*index + 1 < argc && options_looks_like_address(argv[*index + 1]))))
		return options_take(parse, options_find(parse->command, spec->with, strlen(spec->with)), as, value,
			argc, argv, index);
	if (!spec->argument) {
		if (value)
			return options_usage(parse, "%s: '%s': expected no argument", as, value);
		value = "true";
	} else if (!value) {
		const char *next = *index + 1 < argc ? argv[*index + 1] : NULL;
		if (spec->bare && !(next && options_looks_like_number(next))) {
			value = spec->bare;
		} else {
			if (!next || options_looks_like(next))
				return options_usage(parse, "%s: no %s given", as, spec->argument);
			value = next;
			++*index;
		}
	}
	union option_value read = {.flag = true};
	if (spec->kind != OPTION_HELP && !options_read_value(parse, spec, value, &read))
		return fail(&parse->error, TROUPE_EINVAL, "%s: '%s': expected %s", as, value,
			options_expectation(parse, spec, value));
	if (spec->kind == OPTION_PAIR) {
		const char *next = *index + 1 < argc ? argv[*index + 1] : NULL;
		if (!next || options_looks_like(next))
			return options_usage(parse, "%s: '%s' alone: expected %s", as, value, spec->argument);
		read.text = arena_printf(parse->arena, "%s %s", value, next);
		++*index;
	}
	parse->on_line[spec - parse->command->specs] = true;
	return options_store(parse, spec, read);
}

/* Names the option that is most like the word, if it is so much like it that it may be meant. */
static troupe_status options_unknown(struct options_parse *parse, const char *as)
{
	struct near near = near_to(as + 2);
	for (uint32_t i = 0; i < parse->command->spec_count; i++) {
		const struct option_spec *spec = &parse->command->specs[i];
		if (spec->name && spec->kind != OPTION_OPERAND && spec->kind != OPTION_ABSENT)
			near_offer(&near, spec->name);
	}
	const char *best = near_best(&near);
	return best ? options_usage(parse, "%s: no such option; there is --%s", as, best)
		    : options_usage(parse, "%s: no such option", as);
}

static troupe_status options_take_long(struct options_parse *parse, int argc, char **argv, int *index)
{
	const char *word = argv[*index], *equals = strchr(word, '=');
	size_t length = equals ? (size_t)(equals - word) : strlen(word);
	const struct option_spec *spec = options_find(parse->command, word + 2, length - 2);
	const char *as = arena_printf(parse->arena, "%.*s", (int)MIN(length, 200u), word);
	if (!spec)
		return options_unknown(parse, as);
	return options_take(parse, spec, as, equals ? equals + 1 : NULL, argc, argv, index);
}

static troupe_status options_take_letters(struct options_parse *parse, int argc, char **argv, int *index)
{
	const char *word = argv[*index];
	for (const char *at = word + 1; *at; at++) {
		const struct option_spec *spec = options_find_letter(parse->command, *at);
		const char *as = arena_printf(parse->arena, "-%c", *at);
		if (!spec)
			return options_usage(parse, "%s: no such option", as);
		/* an optional argument must look like one, or "-vr" would not be two letters */
		bool joined = spec->argument && at[1] && (!spec->bare || isdigit((unsigned char)at[1]));
		bool last = joined || !at[1];
		const char *value = joined ? at + 1 : last ? NULL : spec->bare;
		int here = *index;
		troupe_status status = options_take(parse, spec, as, value, argc, argv, &here);
		if (status)
			return status;
		*index = here;
		if (last)
			break;
	}
	return TROUPE_OK;
}

static troupe_status options_take_operand(struct options_parse *parse, const char *word)
{
	const struct option_spec *taken = NULL;
	uint32_t count = 0;
	for (uint32_t i = 0; i < parse->command->spec_count; i++) {
		const struct option_spec *spec = &parse->command->specs[i];
		if (spec->kind != OPTION_OPERAND)
			continue;
		if (parse->on_line[i]) {
			taken = spec;
			count++;
			continue;
		}
		if (!*word)
			return options_usage(parse, "'': expected %s", spec->argument);
		parse->on_line[i] = true;
		return options_store(parse, spec, (union option_value){.text = word});
	}
	if (count > 1)
		return options_usage(parse, "'%s': one argument too many: expected %u", word, count);
	if (taken)
		return options_usage(parse, "'%s': a second argument: expected only one %s", word, taken->argument);
	return options_usage(parse, "'%s': expected no argument", word);
}

static troupe_status options_take_words(struct options_parse *parse, int argc, char **argv)
{
	bool options = true;
	troupe_status status = TROUPE_OK;
	for (int i = 0; i < argc && !status && !parse->help; i++) {
		const char *word = argv[i];
		if (!options || word[0] != '-' || !word[1])
			status = options_take_operand(parse, word);
		else if (!strcmp(word, "--"))
			options = false;
		else
			status = (word[1] == '-' ? options_take_long : options_take_letters)(parse, argc, argv, &i);
	}
	return status;
}

static uint32_t options_excluded(const struct options_command *command, uint32_t index)
{
	const char *other = command->specs[index].excludes;
	const struct option_spec *spec = other ? options_find(command, other, strlen(other)) : NULL;
	return spec ? (uint32_t)(spec - command->specs) : OPTIONS_MAX;
}

static troupe_status options_check_excluded(struct options_parse *parse)
{
	for (uint32_t i = 0; i < parse->command->spec_count; i++) {
		uint32_t other = options_excluded(parse->command, i);
		if (parse->on_line[i] && other < OPTIONS_MAX && parse->on_line[other])
			return options_usage(parse, "--%s and --%s: expected only one of them",
				parse->command->specs[i].name, parse->command->specs[other].name);
	}
	return TROUPE_OK;
}

/* --- the configuration file --------------------------------------------------------------------------------------- */

static bool options_allowed_in_file(const struct option_spec *spec)
{
	return spec->name && spec->kind != OPTION_HEADING && spec->kind != OPTION_CONFIG && spec->kind != OPTION_HELP &&
	       spec->kind != OPTION_ABSENT;
}

static const struct option_spec *options_find_element(const struct options_command *command, const char *name)
{
	for (uint32_t i = 0; i < command->spec_count; i++)
		if (options_allowed_in_file(&command->specs[i]) && !strcmp(command->specs[i].name, name))
			return &command->specs[i];
	return NULL;
}

static troupe_status options_unknown_element(struct options_parse *parse, const struct sdf_element *element)
{
	struct text names = {0};
	for (uint32_t i = 0; i < parse->command->spec_count; i++)
		if (options_allowed_in_file(&parse->command->specs[i]))
			text_add(&names, "%s%s", names.count ? " " : "", parse->command->specs[i].name);
	fail(&parse->error, TROUPE_EWORLD, "%s:%u: <%s>: no such setting: expected one of %s", element->file,
		element->line, element->name, names.at ? names.at : "none");
	text_fini(&names);
	return TROUPE_EWORLD;
}

/* Whether the command line gives the same value. */
static bool options_overridden(const struct options_parse *parse, uint32_t index)
{
	const struct option_spec *specs = parse->command->specs;
	uint32_t other = options_excluded(parse->command, index);
	if (parse->on_line[index] || (other < OPTIONS_MAX && parse->on_line[other]))
		return true;
	bool flag = specs[index].kind == OPTION_FLAG || specs[index].kind == OPTION_UNFLAG;
	for (uint32_t i = 0; flag && i < parse->command->spec_count; i++)
		if (parse->on_line[i] && (specs[i].kind == OPTION_FLAG || specs[i].kind == OPTION_UNFLAG) &&
			specs[i].offset == specs[index].offset)
			return true;
	return false;
}

static troupe_status options_take_element(struct options_parse *parse, const struct sdf_element *element)
{
	struct troupe_error *error = &parse->error;
	const struct option_spec *spec = options_find_element(parse->command, element->name);
	if (!spec)
		return options_unknown_element(parse, element);
	uint32_t index = (uint32_t)(spec - parse->command->specs), other = options_excluded(parse->command, index);
	if (parse->in_file[index] && spec->kind != OPTION_LIST && spec->kind != OPTION_PAIR)
		return fail(error, TROUPE_EWORLD, "%s:%u: <%s>: given twice: expected once", element->file,
			element->line, element->name);
	if (other < OPTIONS_MAX && parse->in_file[other])
		return fail(error, TROUPE_EWORLD, "%s:%u: <%s> and <%s>: expected only one of them", element->file,
			element->line, parse->command->specs[other].name, element->name);
	if (element->child || element->attribute_count)
		return fail(error, TROUPE_EWORLD, "%s:%u: <%s>: expected only text in it, no %s", element->file,
			element->line, element->name, element->child ? "elements" : "attributes");
	union option_value value;
	if (!options_read_value(parse, spec, element->text, &value))
		return fail(error, TROUPE_EWORLD, "%s:%u: <%s>: '%s': expected %s", element->file, element->line,
			element->name, element->text, options_expectation(parse, spec, element->text));
	parse->in_file[index] = true;
	return options_overridden(parse, index) ? TROUPE_OK : options_store(parse, spec, value);
}

static troupe_status options_take_file(struct options_parse *parse)
{
	const char *path = NULL;
	for (uint32_t i = 0; i < parse->command->spec_count; i++)
		if (parse->command->specs[i].kind == OPTION_CONFIG && parse->on_line[i])
			path = *(const char **)(void *)((char *)parse->settings + parse->command->specs[i].offset);
	if (!path)
		return TROUPE_OK;
	const struct sdf_element *root;
	troupe_status status = sdf_read_elements(path, "troupe", parse->arena, &root, &parse->error);
	if (status)
		return status;
	for (const struct sdf_element *e = root->child; e && !status; e = e->next)
		status = options_take_element(parse, e);
	return status;
}

/* --- what goes together ------------------------------------------------------------------------------------------- */

static enum option_source options_source_of(const struct options_parse *parse, const struct option_spec *spec)
{
	size_t index = (size_t)(spec - parse->command->specs);
	return parse->on_line[index] ? OPTION_ON_LINE : parse->in_file[index] ? OPTION_IN_FILE : OPTION_NOWHERE;
}

static troupe_status options_check_needed(struct options_parse *parse)
{
	for (uint32_t i = 0; i < parse->command->spec_count; i++) {
		const struct option_spec *spec = &parse->command->specs[i];
		if (spec->needs && options_source_of(parse, spec) &&
			!options_source_of(parse, options_find(parse->command, spec->needs, strlen(spec->needs))))
			return options_usage(parse, "--%s without --%s: expected both", spec->name, spec->needs);
	}
	return TROUPE_OK;
}

const char *option_name(const struct option_spec *spec, struct arena *arena)
{
	return spec->name ? arena_printf(arena, "--%s", spec->name) : arena_printf(arena, "-%c", spec->letter);
}

/* --- help --------------------------------------------------------------------------------------------------------- */

enum { HELP_WIDTH = 79, HELP_COLUMN = 30 };

/* Prints words wrapped at the column; `at` is the present column of the cursor. */
static void options_print_wrapped(const char *text, int at, int column)
{
	while (*text) {
		int length = (int)strcspn(text, " ");
		if (at > column && at + 1 + length > HELP_WIDTH) {
			printf("\n");
			at = 0;
		}
		int pad = at > column ? 1 : column - at;
		printf("%*s%.*s", pad, "", length, text);
		at += pad + length;
		text += length;
		text += *text == ' ';
	}
	printf("\n");
}

static void options_print(const struct option_spec *spec)
{
	char letter[8] = "   ", left[64];
	if (spec->letter)
		snprintf(letter, sizeof letter, "-%c%s", spec->letter, spec->name ? "," : " ");
	int at = snprintf(left, sizeof left, "  %s %s%s", letter, spec->name ? "--" : "", spec->name ? spec->name : "");
	if (spec->argument && at > 0 && at < (int)sizeof left)
		at += snprintf(left + at, sizeof left - (size_t)at, spec->bare ? " [%s]" : " %s", spec->argument);
	printf("%s", left);
	if (at >= HELP_COLUMN - 1) {
		printf("\n");
		at = 0;
	}
	options_print_wrapped(spec->help, at, HELP_COLUMN);
}

static void options_print_help(const struct options_command *command)
{
	printf("usage: %s\n\n", command->usage);
	options_print_wrapped(command->about, 0, 0);
	for (uint32_t i = 0; i < command->spec_count; i++) {
		const struct option_spec *spec = &command->specs[i];
		if (spec->kind == OPTION_HEADING)
			printf("\n%s\n", spec->help);
		else if (spec->kind != OPTION_ABSENT && spec->kind != OPTION_OPERAND)
			options_print(spec);
	}
	if (command->after)
		printf("\n%s", command->after);
	/* "topic list" is in the page of topic */
	printf("\nThe manual page (man troupe-%.*s) says more.\n", (int)strcspn(command->name, " "), command->name);
}

/* --- all together ------------------------------------------------------------------------------------------------- */

static troupe_status options_check_operand(struct options_parse *parse)
{
	for (uint32_t i = 0; i < parse->command->spec_count; i++) {
		const struct option_spec *spec = &parse->command->specs[i];
		if (spec->kind != OPTION_OPERAND)
			continue;
		const struct option_spec *other =
			spec->unless ? options_find(parse->command, spec->unless, strlen(spec->unless)) : NULL;
		bool here = parse->on_line[i] || parse->in_file[i], there = false;
		if (other)
			there = parse->on_line[other - parse->command->specs] ||
				parse->in_file[other - parse->command->specs];
		if (here && there)
			return options_usage(
				parse, "--%s and a %s: expected only one of them", other->name, spec->argument);
		if (!here && !there && !spec->optional)
			return options_usage(parse, "no %s given", spec->argument);
	}
	return TROUPE_OK;
}

bool options_parse(const struct options_command *command, int argc, char **argv, void *settings, struct arena *arena,
	enum option_source *sources, int *ret_exit)
{
	struct options_parse parse = {.command = command, .settings = settings, .arena = arena};
	troupe_status status = options_take_words(&parse, argc, argv);
	if (!status && parse.help) {
		options_print_help(command);
		*ret_exit = CLI_DONE;
		return false;
	}
	if (!status)
		status = options_check_excluded(&parse);
	if (!status)
		status = options_take_file(&parse);
	if (!status)
		status = options_check_operand(&parse);
	if (!status)
		status = options_check_needed(&parse);
	for (uint32_t i = 0; sources && i < command->spec_count; i++)
		sources[i] = options_source_of(&parse, &command->specs[i]);
	if (!status)
		return true;
	cli_complain(command->name, "%s", parse.error.text);
	*ret_exit = status == TROUPE_EINVAL ? CLI_BAD_USAGE : CLI_BAD_INPUT;
	return false;
}
