/* The description is JSON with blanks behind commas and colons, its members in a fixed order: the type, with its fields
 * in their order, then all types of its fields, and of the fields of these types, by name. Constants and default values
 * are no part of it. It is made of the same text of definitions that viewers get, so there is no second list of
 * fields. */
#include "gateway/ros/type_hash.h"

#include "base/json_out.h"
#include "gateway/ros/definitions.h"
#include "gateway/ros/fields.h"

#include <stdlib.h>
#include <string.h>

/* --- SHA-256 (FIPS 180-4) ----------------------------------------------------------------------------------------- */

static const uint32_t type_hash_keys[64] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
	0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7,
	0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
	0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c,
	0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t type_hash_turn(uint32_t value, int bits)
{
	return value >> bits | value << (32 - bits);
}

static void type_hash_add_block(uint32_t state[8], const unsigned char block[64])
{
	uint32_t w[64], s[8];
	memcpy(s, state, sizeof s);
	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (int i = 16; i < 64; i++)
		w[i] = w[i - 16] + (type_hash_turn(w[i - 15], 7) ^ type_hash_turn(w[i - 15], 18) ^ w[i - 15] >> 3) +
		       w[i - 7] + (type_hash_turn(w[i - 2], 17) ^ type_hash_turn(w[i - 2], 19) ^ w[i - 2] >> 10);
	for (int i = 0; i < 64; i++) {
		uint32_t a = s[7] + (type_hash_turn(s[4], 6) ^ type_hash_turn(s[4], 11) ^ type_hash_turn(s[4], 25)) +
			     ((s[4] & s[5]) ^ (~s[4] & s[6])) + type_hash_keys[i] + w[i];
		uint32_t b = (type_hash_turn(s[0], 2) ^ type_hash_turn(s[0], 13) ^ type_hash_turn(s[0], 22)) +
			     ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
		memmove(s + 1, s, 7 * sizeof *s);
		s[4] += a;
		s[0] = a + b;
	}
	for (int i = 0; i < 8; i++)
		state[i] += s[i];
}

static void type_hash_add_sha256(const char *bytes, size_t count, struct text *out)
{
	uint32_t state[8] = {
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	unsigned char last[128] = {0};
	size_t whole = count / 64 * 64, rest = count - whole, room = rest < 56 ? 64 : 128;
	for (size_t i = 0; i < whole; i += 64)
		type_hash_add_block(state, (const unsigned char *)bytes + i);
	memcpy(last, bytes + whole, rest);
	last[rest] = 0x80;
	for (size_t i = 0; i < 8; i++)
		last[room - 1 - i] = (unsigned char)((uint64_t)count * 8 >> 8 * i);
	for (size_t i = 0; i < room; i += 64)
		type_hash_add_block(state, last + i);
	for (int i = 0; i < 8; i++)
		text_add(out, "%08x", state[i]);
}

/* --- the description ---------------------------------------------------------------------------------------------- */

/* A fixed array or an unbounded sequence has so much more than the number of its type. */
enum { OF_ARRAY = 48, OF_SEQUENCE = 144, TYPE_HASH_MAX = 32 };

/* Among the types of fields only parts of an action are no messages: "simulation_interfaces/SimulateSteps_Goal". */
static bool type_hash_is_of_action(const char *name, size_t length)
{
	static const char *const ends[] = {"_Goal", "_Result", "_Feedback"};
	bool found = false;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		size_t count = strlen(ends[i]);
		found |= length > count && !memcmp(name + length - count, ends[i], count);
	}
	return found;
}

/* "std_msgs/Header" as "std_msgs/msg/Header"; a name of that form stays. A release is no part of the name. */
static void type_hash_add_name(struct json_out *out, const char *key, const char *name, size_t length)
{
	size_t package = strcspn(name, "/");
	const char *own = name + package + 1, *form = memchr(name, '@', length);
	length = form ? (size_t)(form - name) : length;
	const char *kind = memchr(own, '/', length - package - 1) ? ""
			   : type_hash_is_of_action(name, length) ? "action/"
								  : "msg/";
	json_out_printf(out, key, "%.*s/%s%.*s", (int)package, name, kind, (int)(length - package - 1), own);
}

static void type_hash_add_field(struct json_out *out, const struct ros_field *field)
{
	int more = field->array == ROS_SINGLE ? 0 : field->array == ROS_LIST ? OF_SEQUENCE : OF_ARRAY;
	json_out_object(out, NULL);
	json_out_printf(out, "name", "%.*s", (int)field->name_count, field->name);
	json_out_object(out, "type");
	json_out_int(out, "type_id", field->type_id + more);
	json_out_int(out, "capacity", MAX(field->array, 0));
	json_out_int(out, "string_capacity", 0);
	if (field->kind == ROS_PART)
		type_hash_add_name(out, "nested_type_name", field->type, field->type_count);
	else
		json_out_string(out, "nested_type_name", "");
	json_out_end(out);
	json_out_end(out);
}

/* The type with its fields. A type without fields has one in ROS 2. */
static void type_hash_add_type(struct json_out *out, const char *key, const char *name, size_t length)
{
	const char *definition = definitions_find(name, length);
	struct ros_field field;
	json_out_object(out, key);
	type_hash_add_name(out, "type_name", name, length);
	json_out_array(out, "fields");
	if (!*definition)
		definition = "uint8 structure_needs_at_least_one_member\n";
	while (fields_next(&definition, &field))
		type_hash_add_field(out, &field);
	json_out_end(out);
	json_out_end(out);
}

static int type_hash_by_name(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	size_t n = strcspn(x, "\n"), m = strcspn(y, "\n");
	int order = memcmp(x, y, MIN(n, m));
	return order ? order : (n > m) - (n < m);
}

void type_hash_add(const char *name, struct text *out)
{
	static const char mark[] = "\nMSG: ";
	const char *parts[TYPE_HASH_MAX];
	size_t count = 0;
	struct text lines = {0}, json = {0};
	struct json_out described = {.text = &json, .spaced = true};
	text_add(&lines, "%s", "");
	definitions_add(name, &lines);
	for (const char *at = strstr(lines.at, mark); at && count < TYPE_HASH_MAX; at = strstr(at + 1, mark))
		parts[count++] = at + sizeof mark - 1;
	qsort(parts, count, sizeof *parts, type_hash_by_name);
	json_out_object(&described, NULL);
	type_hash_add_type(&described, "type_description", name, strlen(name));
	json_out_array(&described, "referenced_type_descriptions");
	for (size_t i = 0; i < count; i++)
		type_hash_add_type(&described, NULL, parts[i], strcspn(parts[i], "\n"));
	json_out_end(&described);
	json_out_end(&described);
	text_add(out, "RIHS01_");
	type_hash_add_sha256(json.at, json.count, out);
	text_fini(&json);
	text_fini(&lines);
}
