/* Reading a condition: a parser by recursive descent. What is true or false and what is a number is known while it is
 * read, so "cart.z and wall.z" is refused with its column before anything runs. */
#include "cli/predicate.h"

#include "base/parse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PREDICATE_DEGREE (3.14159265358979323846 / 180)

struct predicate_parser {
	struct predicate *predicate;
	const char *at; /* the next byte that was not read */
	uint32_t depth;
	const char *many;     /* where a quantity may be that of a pattern; NULL: nowhere */
	troupe_status status; /* of the first error */
	struct troupe_error *error;
};

enum predicate_wants { PREDICATE_WANTS_NUMBER, PREDICATE_WANTS_TRUTH };

static uint32_t predicate_read_or(struct predicate_parser *in);
static uint32_t predicate_read_sum(struct predicate_parser *in);

/* --- the text ----------------------------------------------------------------------------------------------------- */

static bool predicate_is_name_byte(char c, bool first)
{
	unsigned char byte = (unsigned char)c;
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' || byte >= 0x80 ||
	       (!first && byte >= '0' && byte <= '9');
}

static uint32_t predicate_column(const struct predicate_parser *in, const char *at)
{
	return (uint32_t)(at - in->predicate->text) + 1;
}

/* Keeps the first error. What stands there is a part of the message. */
static void predicate_refuse(struct predicate_parser *in, const char *at, const char *expected)
{
	if (in->status)
		return;
	at += strspn(at, " \t\r\n");
	size_t count = strcspn(at, " \t\r\n()");
	if (*at && !count)
		count = 1;
	if (*at)
		in->status = fail(in->error, TROUPE_EINVAL, "%s, column %u: '%.*s': expected %s", in->predicate->option,
			predicate_column(in, at), (int)MIN(count, (size_t)60), at, expected);
	else
		in->status = fail(in->error, TROUPE_EINVAL, "%s, column %u: the text ends here: expected %s",
			in->predicate->option, predicate_column(in, at), expected);
}

static void predicate_skip_blanks(struct predicate_parser *in)
{
	in->at += strspn(in->at, " \t\r\n");
}

static bool predicate_take(struct predicate_parser *in, const char *sign)
{
	size_t count = strlen(sign);
	predicate_skip_blanks(in);
	bool word = predicate_is_name_byte(*sign, true);
	if (strncmp(in->at, sign, count) != 0 || (word && predicate_is_name_byte(in->at[count], false)))
		return false;
	in->at += count;
	return true;
}

static void predicate_must_take(struct predicate_parser *in, const char *sign, const char *expected)
{
	if (!predicate_take(in, sign))
		predicate_refuse(in, in->at, expected);
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

/* The index of the new node. */
static uint32_t predicate_add(
	struct predicate_parser *in, enum predicate_op op, const char *begin, const uint32_t *operands, uint32_t count)
{
	struct predicate *predicate = in->predicate;
	struct predicate_node node = {.op = op,
		.column = predicate_column(in, begin),
		.bytes = (uint32_t)(in->at - begin),
		.first = predicate->operands.count,
		.count = count,
		.names = {TROUPE_NONE, TROUPE_NONE}};
	if (predicate->nodes.count == PREDICATE_NODES_MAX && !in->status)
		in->status = fail(in->error, TROUPE_EINVAL, "%s, column %u: more than %d parts: expected fewer",
			predicate->option, node.column, PREDICATE_NODES_MAX);
	if (in->status)
		return 0;
	for (uint32_t i = 0; i < count; i++)
		vec_push(&predicate->operands, operands[i]);
	vec_push(&predicate->nodes, node);
	return predicate->nodes.count - 1;
}

static void predicate_check(struct predicate_parser *in, uint32_t operand, enum predicate_wants wants)
{
	if (in->status)
		return;
	const struct predicate_node *node = &in->predicate->nodes.at[operand];
	bool truth = node->op >= PREDICATE_LESS;
	const char *at = in->predicate->text + node->column - 1;
	if (wants == PREDICATE_WANTS_TRUTH && !truth)
		predicate_refuse(in, at, "a condition, such as cart.z < 0.1, and not a number");
	else if (wants == PREDICATE_WANTS_NUMBER && truth)
		predicate_refuse(in, at, "a number, and not a condition");
}

static uint32_t predicate_join(struct predicate_parser *in, enum predicate_op op, const char *begin, uint32_t left,
	uint32_t right, enum predicate_wants wants)
{
	predicate_check(in, left, wants);
	predicate_check(in, right, wants);
	return predicate_add(in, op, begin, (uint32_t[]){left, right}, 2);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

/* A word, or a text in quotes. NULL: there is none, which is an error. */
static const char *predicate_read_word(struct predicate_parser *in, const char *expected)
{
	predicate_skip_blanks(in);
	const char *begin = in->at;
	struct arena *arena = &in->predicate->arena;
	if (*begin == '\'' || *begin == '"') {
		const char *end = strchr(begin + 1, *begin);
		if (!end || end == begin + 1) {
			predicate_refuse(in, end ? begin : begin + strlen(begin), "a name and the quote that ends it");
			return NULL;
		}
		in->at = end + 1;
		return arena_printf(arena, "%.*s", (int)(end - begin - 1), begin + 1);
	}
	if (!predicate_is_name_byte(*begin, true)) {
		predicate_refuse(in, begin, expected);
		return NULL;
	}
	while (predicate_is_name_byte(*in->at, false) ||
		(!strncmp(in->at, "::", 2) && predicate_is_name_byte(in->at[2], false)))
		in->at += *in->at == ':' ? 2 : 1;
	return arena_printf(arena, "%.*s", (int)(in->at - begin), begin);
}

static bool predicate_is_pattern(const char *name)
{
	return name && strpbrk(name, "*?");
}

/* MODEL or MODEL/PART. Returns its index. */
static uint32_t predicate_read_name(struct predicate_parser *in)
{
	predicate_skip_blanks(in);
	struct predicate_name name = {.column = predicate_column(in, in->at)};
	name.model = predicate_read_word(in, "the name of a model (in quotes if it has other characters than letters, "
					     "digits, _ and ::)");
	if (!in->status && *in->at == '/') {
		in->at++;
		name.part = predicate_read_word(in, "the name of a link, joint or sensor of the model");
	}
	if (in->status)
		return 0;
	name.pattern = predicate_is_pattern(name.model) || predicate_is_pattern(name.part);
	vec_push(&in->predicate->names, name);
	return in->predicate->names.count - 1;
}

/* MODEL.WORD or MODEL/PART.WORD. */
static uint32_t predicate_read_quantity(struct predicate_parser *in)
{
	const char *begin = in->at;
	uint32_t name = predicate_read_name(in);
	const char *word = NULL;
	if (!in->status && *in->at != '.')
		predicate_refuse(in, in->at,
			*in->at == '-' ? "a name with - in quotes, or . and a quantity, such as .z"
				       : ". and a quantity behind the name, such as .z or .speed");
	if (!in->status) {
		in->at++;
		word = predicate_read_word(in, "a quantity, such as z or speed");
	}
	if (in->status)
		return 0;
	if (in->predicate->names.at[name].pattern && in->many != begin) {
		predicate_refuse(in, begin, "min() or max() around a quantity of all that a pattern names");
		return 0;
	}
	bool flag = !in->predicate->names.at[name].part && (!strcmp(word, "asleep") || !strcmp(word, "loaded"));
	in->predicate->efforts |= !strncmp(word, "effort", 6);
	in->predicate->contacts |= !strcmp(word, "contacts");
	uint32_t node = predicate_add(in, flag ? PREDICATE_FLAG : PREDICATE_QUANTITY, begin, NULL, 0);
	if (in->status)
		return 0;
	in->predicate->nodes.at[node].names[0] = name;
	in->predicate->nodes.at[node].word = word;
	return node;
}

/* --- functions ---------------------------------------------------------------------------------------------------- */

static const struct predicate_function {
	const char *name;
	enum predicate_op op;
	bool names; /* its arguments are names, not numbers */
	uint32_t least, most;
} predicate_functions[] = {
	{"abs", PREDICATE_ABS, false, 1, 1},
	{"sqrt", PREDICATE_SQRT, false, 1, 1},
	{"min", PREDICATE_MIN, false, 1, 8},
	{"max", PREDICATE_MAX, false, 1, 8},
	{"distance", PREDICATE_DISTANCE, true, 2, 2},
	{"depth", PREDICATE_DEPTH, true, 1, 2},
	{"contact", PREDICATE_CONTACT, true, 1, 2},
	{"exists", PREDICATE_EXISTS, true, 1, 1},
};

/* NULL: no function begins here. */
static const struct predicate_function *predicate_find_function(struct predicate_parser *in)
{
	for (size_t i = 0; i < ARRAY_LEN(predicate_functions); i++) {
		size_t count = strlen(predicate_functions[i].name);
		if (strncmp(in->at, predicate_functions[i].name, count) != 0)
			continue;
		const char *after = in->at + count + strspn(in->at + count, " \t\r\n");
		if (*after != '(' || predicate_is_name_byte(in->at[count], false))
			continue;
		in->at = after + 1;
		return &predicate_functions[i];
	}
	return NULL;
}

/* A quantity of a pattern may be a whole argument of min() and max(), and nothing else. */
static uint32_t predicate_read_argument(struct predicate_parser *in, enum predicate_op op)
{
	predicate_skip_blanks(in);
	const char *begin = in->at;
	in->many = op == PREDICATE_MIN || op == PREDICATE_MAX ? begin : NULL;
	uint32_t node = predicate_read_sum(in);
	predicate_check(in, node, PREDICATE_WANTS_NUMBER);
	if (!in->status && in->many && in->predicate->nodes.at[node].op != PREDICATE_QUANTITY)
		for (uint32_t i = 0; i < in->predicate->names.count; i++)
			if (in->predicate->names.at[i].pattern &&
				in->predicate->names.at[i].column == predicate_column(in, begin))
				predicate_refuse(in, begin, "a pattern's quantity alone between the commas");
	in->many = NULL;
	return node;
}

static uint32_t predicate_read_call(
	struct predicate_parser *in, const struct predicate_function *function, const char *begin)
{
	uint32_t operands[8], names[2] = {TROUPE_NONE, TROUPE_NONE}, count = 0;
	do {
		if (count == function->most)
			predicate_refuse(in, in->at, ") after the last argument");
		else if (function->names)
			names[count++] = predicate_read_name(in);
		else
			operands[count++] = predicate_read_argument(in, function->op);
	} while (!in->status && predicate_take(in, ","));
	if (count < function->least)
		predicate_refuse(in, in->at, ", and another name");
	predicate_must_take(in, ")", ")");
	uint32_t node = predicate_add(in, function->op, begin, operands, function->names ? 0 : count);
	if (in->status)
		return 0;
	memcpy(in->predicate->nodes.at[node].names, names, sizeof names);
	in->predicate->contacts |= function->op == PREDICATE_CONTACT || function->op == PREDICATE_DEPTH;
	return node;
}

/* --- operators ---------------------------------------------------------------------------------------------------- */

static uint32_t predicate_read_number(struct predicate_parser *in, const char *begin)
{
	char digits[64];
	size_t count = strspn(begin, "0123456789.");
	if ((begin[count] == 'e' || begin[count] == 'E') && count) {
		size_t sign = begin[count + 1] == '-' || begin[count + 1] == '+';
		count += 1 + sign + strspn(begin + count + 1 + sign, "0123456789");
	}
	double number = 0;
	(void)memcpy(digits, begin, MIN(count, sizeof digits - 1));
	digits[MIN(count, sizeof digits - 1)] = '\0';
	if (count >= sizeof digits || !parse_double(digits, &number) || !isfinite(number))
		predicate_refuse(in, begin, "a number");
	in->at = begin + count;
	if (predicate_take(in, "deg"))
		number *= PREDICATE_DEGREE;
	uint32_t node = predicate_add(in, PREDICATE_NUMBER, begin, NULL, 0);
	if (!in->status)
		in->predicate->nodes.at[node].number = number;
	return node;
}

static uint32_t predicate_read_primary(struct predicate_parser *in)
{
	predicate_skip_blanks(in);
	const char *begin = in->at;
	const struct predicate_function *function = predicate_find_function(in);
	if (function)
		return predicate_read_call(in, function, begin);
	if (predicate_take(in, "(")) {
		uint32_t node = predicate_read_or(in);
		predicate_must_take(in, ")", ")");
		return node;
	}
	if ((*begin >= '0' && *begin <= '9') || *begin == '.')
		return predicate_read_number(in, begin);
	if (predicate_take(in, "step") && *in->at != '.' && *in->at != '/')
		return predicate_add(in, PREDICATE_STEP, begin, NULL, 0);
	in->at = begin;
	if (predicate_take(in, "time") && *in->at != '.' && *in->at != '/')
		return predicate_add(in, PREDICATE_TIME, begin, NULL, 0);
	in->at = begin;
	if (*begin == '\'' || *begin == '"' || predicate_is_name_byte(*begin, true))
		return predicate_read_quantity(in);
	predicate_refuse(in, begin, "a number, a quantity such as cart.z, a function such as distance(a, b), or (");
	return 0;
}

static uint32_t predicate_read_unary(struct predicate_parser *in)
{
	predicate_skip_blanks(in);
	const char *begin = in->at;
	if (in->depth++ > PREDICATE_DEPTH_MAX)
		predicate_refuse(in, begin, "fewer parentheses and signs");
	uint32_t node = 0;
	if (in->status) {
	} else if (predicate_take(in, "-")) {
		node = predicate_read_unary(in);
		predicate_check(in, node, PREDICATE_WANTS_NUMBER);
		node = predicate_add(in, PREDICATE_MINUS, begin, &node, 1);
	} else {
		node = predicate_read_primary(in);
	}
	in->depth--;
	return node;
}

static uint32_t predicate_read_product(struct predicate_parser *in)
{
	predicate_skip_blanks(in);
	const char *begin = in->at;
	uint32_t node = predicate_read_unary(in);
	while (!in->status) {
		bool times = predicate_take(in, "*");
		if (!times && !predicate_take(in, "/"))
			break;
		uint32_t right = predicate_read_unary(in);
		node = predicate_join(
			in, times ? PREDICATE_MULTIPLY : PREDICATE_DIVIDE, begin, node, right, PREDICATE_WANTS_NUMBER);
	}
	return node;
}

static uint32_t predicate_read_sum(struct predicate_parser *in)
{
	predicate_skip_blanks(in);
	const char *begin = in->at;
	uint32_t node = predicate_read_product(in);
	while (!in->status) {
		bool plus = predicate_take(in, "+");
		if (!plus && !predicate_take(in, "-"))
			break;
		uint32_t right = predicate_read_product(in);
		node = predicate_join(
			in, plus ? PREDICATE_ADD : PREDICATE_SUBTRACT, begin, node, right, PREDICATE_WANTS_NUMBER);
	}
	return node;
}

static uint32_t predicate_read_comparison(struct predicate_parser *in)
{
	static const struct {
		const char *sign;
		enum predicate_op op;
	} signs[] = {{"<=", PREDICATE_AT_MOST}, {">=", PREDICATE_AT_LEAST}, {"==", PREDICATE_EQUAL},
		{"!=", PREDICATE_UNEQUAL}, {"<", PREDICATE_LESS}, {">", PREDICATE_MORE}};
	predicate_skip_blanks(in);
	const char *begin = in->at;
	uint32_t left = predicate_read_sum(in);
	for (size_t i = 0; i < ARRAY_LEN(signs) && !in->status; i++)
		if (predicate_take(in, signs[i].sign)) {
			uint32_t right = predicate_read_sum(in);
			return predicate_join(in, signs[i].op, begin, left, right, PREDICATE_WANTS_NUMBER);
		}
	return left;
}

static uint32_t predicate_read_not(struct predicate_parser *in)
{
	predicate_skip_blanks(in);
	const char *begin = in->at;
	bool bang = strncmp(begin, "!=", 2) != 0 && predicate_take(in, "!");
	if (!bang && !predicate_take(in, "not"))
		return predicate_read_comparison(in);
	if (in->depth++ > PREDICATE_DEPTH_MAX)
		predicate_refuse(in, begin, "fewer parentheses and signs");
	uint32_t node = in->status ? 0 : predicate_read_not(in);
	in->depth--;
	predicate_check(in, node, PREDICATE_WANTS_TRUTH);
	return predicate_add(in, PREDICATE_NOT, begin, &node, 1);
}

static uint32_t predicate_read_and(struct predicate_parser *in)
{
	predicate_skip_blanks(in);
	const char *begin = in->at;
	uint32_t node = predicate_read_not(in);
	while (!in->status && (predicate_take(in, "and") || predicate_take(in, "&&"))) {
		uint32_t right = predicate_read_not(in);
		node = predicate_join(in, PREDICATE_AND, begin, node, right, PREDICATE_WANTS_TRUTH);
	}
	return node;
}

static uint32_t predicate_read_or(struct predicate_parser *in)
{
	predicate_skip_blanks(in);
	const char *begin = in->at;
	uint32_t node = predicate_read_and(in);
	while (!in->status && (predicate_take(in, "or") || predicate_take(in, "||"))) {
		uint32_t right = predicate_read_and(in);
		node = predicate_join(in, PREDICATE_OR, begin, node, right, PREDICATE_WANTS_TRUTH);
	}
	return node;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

troupe_status predicate_read(
	struct predicate *predicate, const char *option, const char *text, struct troupe_error *error)
{
	struct predicate_parser in = {predicate, text, 0, NULL, TROUPE_OK, error};
	predicate->option = option;
	predicate->text = text;
	if (strlen(text) > PREDICATE_BYTES_MAX)
		return fail(error, TROUPE_EINVAL, "%s: more than %d bytes", option, PREDICATE_BYTES_MAX);
	predicate->root = predicate_read_or(&in);
	predicate_skip_blanks(&in);
	if (*in.at == '=')
		predicate_refuse(&in, in.at, "== to compare");
	else if (*in.at)
		predicate_refuse(&in, in.at, "an operator, such as <, and or +, or the end");
	predicate_check(&in, predicate->root, PREDICATE_WANTS_TRUTH);
	return in.status;
}

uint32_t predicate_observes(const struct predicate *predicate)
{
	return (predicate->contacts ? TROUPE_OBSERVE_CONTACTS : 0u) |
	       (predicate->efforts ? TROUPE_OBSERVE_EFFORTS : 0u);
}

void predicate_fini(struct predicate *predicate)
{
	predicate_renew(predicate);
	vec_free(&predicate->nodes);
	vec_free(&predicate->operands);
	vec_free(&predicate->names);
	arena_fini(&predicate->arena);
}
