/* The tools of src/base: one line for an error, addresses, lists, maps, numbers as text and back, hashes, places in an
 * array, data beside the program, near names, patterns, memory, and text that is shown. */
#include "base/arena.h"
#include "base/data.h"
#include "base/hash.h"
#include "base/host_port.h"
#include "base/indices.h"
#include "base/json_out.h"
#include "base/map.h"
#include "base/match.h"
#include "base/near.h"
#include "base/parse.h"
#include "base/ranges.h"
#include "base/share.h"
#include "base/shown.h"
#include "base/text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(base, .timeout = 60);

Test(base, error_is_one_clean_line)
{
	struct troupe_error error;
	cr_assert_eq(fail(&error, TROUPE_EWORLD, "w.sdf:%d: %s", 3, "a\nb\x1b[31m"), TROUPE_EWORLD);
	cr_assert_str_eq(error.text, "w.sdf:3: a\\nb\\x1b[31m");
	cr_assert_eq(error.status, TROUPE_EWORLD);
	cr_assert_str_eq(troupe_status_text((troupe_status)9999), "unknown status");
}

/* One grammar for the addresses of all options. A number alone is a port; colons without brackets are IPv6. */
Test(base, addresses)
{
	static const struct {
		const char *text, *host;
		int port; /* -1: none */
	} good[] = {{"8080", "", 8080}, {":8080", "", 8080}, {":0", "", 0}, {"localhost:8399", "localhost", 8399},
		{"host", "host", -1}, {"10.0.0.3:65535", "10.0.0.3", 65535}, {"[::1]:80", "::1", 80},
		{"[::1]", "::1", -1}, {"::1", "::1", -1}, {"2001:db8::2", "2001:db8::2", -1}, {"*", "*", -1},
		{"*:47082", "*", 47082}, {"fe80::1%eth0", "fe80::1%eth0", -1}, {"[fe80::1%eth0]:9", "fe80::1%eth0", 9}};
	static const char *const bad[] = {"", "65536", ":65536", "host:", ":", "host:x", "host:-1", "host: 1", "[::1",
		"[]:1", "[::1]80", "[::1]:", "99999999999999999999", "host:99999999999999999999"};
	struct host_port found;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		cr_assert(host_port_read(good[i].text, &found), "%s", good[i].text);
		cr_assert_str_eq(found.host, good[i].host, "%s", good[i].text);
		cr_assert_eq(found.has_port ? found.port : -1, good[i].port, "%s", good[i].text);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		cr_assert_not(host_port_read(bad[i], &found), "%s", bad[i]);
	char host[HOST_PORT_HOST_MAX + 1] = {0};
	memset(host, 'h', sizeof host - 1);
	cr_assert(host_port_read(host, &found));
	char longer[HOST_PORT_HOST_MAX + 2] = {0};
	memset(longer, 'h', sizeof longer - 1);
	cr_assert_not(host_port_read(longer, &found));
}

/* What is written is read back, and the host of a written text is found again. */
Test(base, addresses_are_written_as_they_are_read)
{
	static const struct {
		const char *host, *text;
		size_t host_bytes;
	} cases[] = {{"10.0.0.2", "10.0.0.2:80", 8}, {"::1", "[::1]:80", 5}, {"fe80::1%eth0", "[fe80::1%eth0]:80", 14},
		{"robot", "robot:80", 5}, {"", ":80", 0}};
	char text[HOST_PORT_TEXT_BYTES], host[HOST_PORT_HOST_MAX + 1], small[8];
	struct host_port found;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		host_port_text(cases[i].host, 80, text, sizeof text);
		cr_assert_str_eq(text, cases[i].text);
		cr_assert(host_port_read(text, &found) && found.has_port && found.port == 80);
		cr_assert_str_eq(found.host, cases[i].host);
		cr_assert_eq(host_port_host_bytes(text), cases[i].host_bytes);
	}
	memset(host, 'x', sizeof host);
	host[HOST_PORT_HOST_MAX] = '\0';
	host_port_text(host, UINT16_MAX, text, sizeof text);
	cr_assert(host_port_read(text, &found) && found.port == UINT16_MAX && !strcmp(found.host, host));
	host_port_text("10.0.0.2", 80, small, sizeof small);
	cr_assert_str_eq(small, "10.0.0.");
	cr_assert_eq(host_port_host_bytes("nowhere"), 7);
}

Test(base, vec_grows_and_keeps)
{
	VEC(int) v = {0};
	for (int i = 0; i < 1000; i++)
		vec_push(&v, i);
	int *more = vec_append(&v, 5);
	cr_assert_eq(v.count, 1005);
	cr_assert_eq(more[4], 0);
	for (int i = 0; i < 1000; i++)
		cr_assert_eq(v.at[i], i);
	vec_free(&v);
	cr_assert_eq(v.count, 0);
}

Test(base, map_finds_what_was_added_once)
{
	struct map map = {0};
	struct arena arena = {0};
	uint32_t value = 77;
	cr_assert(!map_find(&map, "x", &value));
	for (uint32_t i = 0; i < 5000; i++)
		cr_assert(map_add(&map, arena_printf(&arena, "name%u", i), i));
	cr_assert(!map_add(&map, "name17", 3));
	cr_assert(map_find(&map, "name17", &value) && value == 17);
	cr_assert(!map_find(&map, "name5000", &value));
	map_fini(&map);
	arena_fini(&arena);
}

/* Compared with a plain table, with any number of names: at first more are added than removed, then the other way
 * round. */
Test(base, map_forgets_what_was_removed_and_nothing_else)
{
	enum { NAMES = 300 };
	struct map map = {0};
	char names[NAMES][8];
	uint32_t there[NAMES] = {0}, count = 0; /* the name's value; 0: the name is not there */
	for (uint32_t i = 0; i < NAMES; i++)
		snprintf(names[i], sizeof names[i], "n%u", i);
	cr_assert(!map_remove(&map, "n0"));
	for (uint64_t round = 1; round <= 40000; round++) {
		uint32_t i = (uint32_t)(hash_mix(round, 1) % NAMES), value = 0;
		bool add = hash_mix(round, 2) % 40000 > round;
		cr_assert_eq(add ? map_add(&map, names[i], (uint32_t)round) : map_remove(&map, names[i]),
			add == !there[i], "round %d", (int)round);
		if (add == !there[i]) {
			there[i] = add ? (uint32_t)round : 0;
			count += add ? 1 : -1u;
		}
		cr_assert_eq(map.count, count);
		for (uint32_t k = 0; round % 16 == 0 && k < NAMES; k++)
			cr_assert_eq(map_find(&map, names[k], &value) ? value : 0, there[k], "round %d: %s", (int)round,
				names[k]);
	}
	map_fini(&map);
}

/* Names that come and go for ever cost neither room nor time: no part of a removed name stays. */
Test(base, map_stays_small_while_names_come_and_go)
{
	enum { KEPT = 10 };
	struct map map = {0};
	char names[KEPT][16] = {""};
	uint32_t value = 0;
	for (uint32_t i = 0; i < 100000; i++) {
		char *name = names[i % KEPT];
		cr_assert_eq(map_remove(&map, name), i >= KEPT);
		snprintf(name, sizeof names[0], "name%u", i);
		cr_assert(map_add(&map, name, i));
	}
	cr_assert_eq(map.count, KEPT);
	cr_assert_leq(map.room, 16);
	cr_assert(map_find(&map, "name99995", &value) && value == 99995);
	cr_assert(!map_find(&map, "name99989", &value));
	for (uint32_t i = 0; i < KEPT; i++)
		cr_assert(map_remove(&map, names[i]));
	cr_assert(!map.count && !map_find(&map, names[0], &value) && !map_remove(&map, names[0]));
	map_fini(&map);
}

Test(base, numbers_are_whole_words)
{
	double d = 0, several[3];
	int64_t i = 0;
	uint64_t u = 0;
	bool b = false;
	cr_assert(parse_double(" 1.5e3 ", &d) && d == 1500);
	cr_assert(!parse_double("1.5x", &d) && !parse_double("", &d) && !parse_double("1 2", &d));
	cr_assert(parse_double("nan", &d) && isnan(d));
	cr_assert(parse_int64("-12", &i) && i == -12);
	cr_assert(!parse_int64("99999999999999999999", &i));
	cr_assert(!parse_uint64("-1", &u));
	cr_assert(parse_bool("True", &b) && b && parse_bool("0", &b) && !b && !parse_bool("yes", &b));
	cr_assert_eq(parse_doubles(" 1 2\n3 ", several, 3), 3);
	cr_assert_eq(parse_doubles("1 2 3 4", several, 3), -1);
	cr_assert_eq(parse_doubles("1 b", several, 3), -1);
	cr_assert_eq(parse_doubles("", several, 3), 0);
}

Test(base, doubles_print_shortest_and_read_back)
{
	struct text text = {0};
	text_add_double(&text, 0.1);
	cr_assert_str_eq(text.at, "0.1");
	text_fini(&text);
	static const double hard[] = {1.0 / 3, 1e-300, 123456789.123456789, -0.0, 5e-324};
	for (size_t k = 0; k < ARRAY_LEN(hard); k++) {
		double back = 1;
		text_add_double(&text, hard[k]);
		cr_assert(parse_double(text.at, &back) && !memcmp(&back, &hard[k], 8), "%s", text.at);
		text_fini(&text);
	}
	text_add_json(&text, "a\"b\\\n");
	cr_assert_str_eq(text.at, "\"a\\\"b\\\\\\u000a\"");
	text_fini(&text);
}

/* The number has the fewest of 15, 16 and 17 digits that are read back as the same number, in the form that the C
 * library prints. */
static void expect_as_libc(double value)
{
	struct text text = {0};
	char wanted[40];
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(wanted, sizeof wanted, "%.*g", digits, value);
		if (strtod(wanted, NULL) == value)
			break;
	}
	text_add_double(&text, value);
	cr_assert_str_eq(text.at, wanted, "%a", value);
	text_fini(&text);
}

Test(base, doubles_print_as_libc_does)
{
	uint64_t state = 1;
	for (int power = -20; power <= 20;
		power++) /* neighbours of powers of ten, of powers of two, and of numbers with few digits */
		for (int by = 1; by <= 9; by++) {
			double value = by * pow(10, power), two = ldexp(by, power * 3);
			for (int i = 0; i < 20; i++) {
				expect_as_libc(value);
				expect_as_libc(-two);
				value = nextafter(value, i < 10 ? INFINITY : 0);
				two = nextafter(two, i < 10 ? 0 : INFINITY);
			}
			expect_as_libc(by * pow(10, power));
		}
	for (int i = 0; i < 150000; i++) {
		uint64_t bits = state = hash_mix(state, (uint64_t)i);
		double value;
		/* exponents of 2^-56 to 2^55, all mantissas, and mantissas with few bits */
		bits = (bits & 0x800fffffffffffffu) | (1023 - 56 + (bits >> 52) % 112) << 52;
		if (i % 4 == 0)
			bits &= ~(uint64_t)0 << (state % 52);
		memcpy(&value, &bits, sizeof value);
		expect_as_libc(value);
		expect_as_libc(round(value * 1e6) / 1e6);
	}
	static const double others[] = {0, -0.0, 1e15, 999999999999999.9, 1e-15, 5e-324, 1.7976931348623157e308, 0.1,
		0.3, 0.1 + 0.2, 1.0 / 3, 123456789012345678.0};
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		expect_as_libc(others[i]);
}

Test(base, hashes_differ_by_seed_length_and_content)
{
	static const uint64_t words[3] = {0, 0, 1};
	cr_assert_neq(hash_words(1, words, 2), hash_words(2, words, 2));
	cr_assert_neq(hash_words(1, words, 1), hash_words(1, words, 2));
	cr_assert_neq(hash_words(1, words, 2), hash_words(1, words + 1, 2));
	cr_assert_neq(hash_bytes(0, "abcdefgh", 8), hash_bytes(0, "abcdefgi", 8));
	cr_assert_eq(hash_bytes(0, "abc", 3), hash_bytes(0, "abc", 3));
}

Test(base, indices_stay_ascending_and_single)
{
	indices set = {0};
	bool there[100] = {false};
	for (uint64_t i = 0; i < 4000; i++) {
		uint32_t value = (uint32_t)(hash_mix(i, 5) % 100);
		if (hash_mix(i, 6) & 1)
			indices_add(&set, value);
		else
			indices_remove(&set, value);
		there[value] = hash_mix(i, 6) & 1;
		uint32_t count = 0;
		for (uint32_t v = 0; v < 100; v++) {
			cr_assert_eq(indices_has(&set, v), there[v]);
			count += there[v];
		}
		cr_assert_eq(set.count, count);
		for (uint32_t k = 1; k < set.count; k++)
			cr_assert(set.at[k - 1] < set.at[k]);
	}
	vec_free(&set);
}

/* --- places ------------------------------------------------------------------------------------------------------- */

enum { PLACES = 400 };

static uint32_t lowest_fit(const bool *taken, uint32_t end, uint32_t count)
{
	for (uint32_t first = 0; first < end; first++) {
		uint32_t k = 0;
		while (k < count && first + k < end && !taken[first + k])
			k++;
		if (k == count)
			return first;
	}
	return end;
}

static void check_ranges(const struct ranges *ranges, const bool *taken)
{
	uint32_t end = 0, at = 0;
	for (uint32_t i = 0; i < PLACES; i++)
		end = taken[i] ? i + 1 : end;
	cr_assert_eq(ranges->end, end);
	for (uint32_t i = 0; i < ranges->free.count; i++) {
		struct range free = ranges->free.at[i];
		cr_assert(free.count && (!i || free.first > at), "free ranges are in order, apart, and not empty");
		for (; at < free.first; at++)
			cr_assert(taken[at]);
		for (; at < free.first + free.count; at++)
			cr_assert(!taken[at]);
	}
	for (; at < end; at++)
		cr_assert(taken[at]);
}

/* Compared with a plain table; ranges are taken anywhere, claimed where they are free and where they are not, and given
 * back in any order. */
Test(base, ranges_are_those_of_a_table)
{
	struct ranges ranges = {0};
	bool taken[2 * PLACES] = {false};
	struct range held[PLACES];
	uint32_t count = 0, claimed = 0, refused = 0;
	for (uint64_t round = 1; round <= 20000; round++) {
		uint32_t size = 1 + (uint32_t)(hash_mix(round, 1) % 9), first = (uint32_t)(hash_mix(round, 2) % PLACES);
		uint32_t what = (uint32_t)(hash_mix(round, 3) % 4),
			 i = count ? (uint32_t)(hash_mix(round, 4) % count) : 0;
		if (round / 1000 % 2) /* by turns the ranges are mostly free */
			what = MAX(what, (uint32_t)(hash_mix(round, 5) % 4));
		if (what == 0 && first + size <= PLACES) {
			bool good = true;
			for (uint32_t k = 0; k < size; k++)
				good = good && !taken[first + k];
			cr_assert_eq(ranges_claim(&ranges, first, size), good, "round %d", (int)round);
			claimed += good;
			refused += !good;
			size = good ? size : 0;
		} else if (what == 1 && ranges.end + size <= PLACES) {
			first = lowest_fit(taken, ranges.end, size);
			cr_assert_eq(ranges_take(&ranges, size), first, "round %d", (int)round);
		} else if (count) {
			ranges_give(&ranges, held[i].first, held[i].count);
			memset(taken + held[i].first, 0, held[i].count * sizeof *taken);
			held[i] = held[--count];
			size = 0;
		} else {
			size = 0;
		}
		if (size) {
			memset(taken + first, 1, size * sizeof *taken);
			held[count++] = (struct range){first, size};
		}
		check_ranges(&ranges, taken);
	}
	cr_assert(claimed && refused);
	while (count--)
		ranges_give(&ranges, held[count].first, held[count].count);
	cr_assert(!ranges.end && !ranges.free.count);
	ranges_fini(&ranges);
}

Test(base, ranges_refuse_what_no_number_reaches)
{
	struct ranges ranges = {0};
	cr_assert_eq(ranges_take(&ranges, 0), 0);
	cr_assert(ranges_claim(&ranges, 5, 0) && !ranges.end);
	cr_assert(!ranges_claim(&ranges, UINT32_MAX, 1) && !ranges_claim(&ranges, UINT32_MAX - 4, 5));
	cr_assert(!ranges_claim(&ranges, 2, UINT32_MAX - 1));
	cr_assert(ranges_claim(&ranges, 4, 2) && ranges.end == 6);
	cr_assert(!ranges_claim(&ranges, 3, 2) && !ranges_claim(&ranges, 5, 2) && !ranges_claim(&ranges, 3, 9));
	cr_assert(ranges.end == 6 && ranges.free.count == 1 && ranges.free.at[0].count == 4);
	ranges_give(&ranges, 4, 2);
	cr_assert(!ranges.end && !ranges.free.count);
	cr_assert(ranges_claim(&ranges, UINT32_MAX - 5, 5) && ranges.end == UINT32_MAX);
	ranges_give(&ranges, UINT32_MAX - 5, 5);
	cr_assert(!ranges.end && !ranges.free.count);
	ranges_fini(&ranges);
}

/* Old bytes stay, new bytes are zero, and memory never shrinks. */
Test(base, memory_that_grows_keeps_and_is_clear)
{
	void *(*const grow[])(void *old, size_t old_bytes, size_t bytes) = {mem_grow, mem_grow_lines};
	for (size_t which = 0; which < ARRAY_LEN(grow); which++) {
		unsigned char *at = grow[which](NULL, 0, 0);
		size_t bytes = 0;
		cr_assert(at, "memory of no bytes has an address, too");
		for (uint64_t round = 0; round < 300; round++) {
			size_t more = bytes + (size_t)(hash_mix(round, which) % 100);
			at = grow[which](at, bytes, more);
			for (size_t i = 0; i < more; i++) {
				cr_assert_eq(at[i], i < bytes ? (unsigned char)(i * 7 + 1) : 0);
				at[i] = (unsigned char)(i * 7 + 1);
			}
			cr_assert(!which || (uintptr_t)at % 64 == 0);
			bytes = more;
			cr_assert_eq(
				grow[which](at, bytes, bytes / 2), at, "memory that is large enough stays where it is");
		}
		free(at);
	}
}

/* Also memory that was used before, and its first and last pages, which are not whole. */
Test(base, much_memory_is_clear_and_taken_when_it_is_written)
{
	enum { BYTES = 200000, ROUNDS = 20 };
	for (size_t round = 0; round < ROUNDS; round++) {
		size_t bytes = BYTES + round * 64, before = 0;
		unsigned char *at = mem_alloc_lines(bytes);
		for (size_t i = 0; i < bytes; i++)
			before += at[i] != 0;
		cr_assert_eq(before, 0, "%zu of %zu bytes are not zero", before, bytes);
		memset(at, 0xa5, bytes);
		free(at);
	}
}

Test(base, what_is_equal_is_stored_once)
{
	struct share share = {0};
	struct arena arena = {0};
	const void *first[500];
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t i = 0; i < ARRAY_LEN(first); i++) {
			const uint32_t bytes[3] = {i, i / 2, 7};
			const uint32_t *kept = share_keep(&share, &arena, bytes, sizeof bytes);
			cr_assert(!memcmp(kept, bytes, sizeof bytes) && (const void *)kept != (const void *)bytes);
			cr_assert(!round || kept == first[i], "stored again");
			first[i] = kept;
			cr_assert(!i || kept != first[i - 1]);
		}
	const uint32_t shorter[2] = {0, 0};
	const void *kept = share_keep(&share, &arena, shorter, sizeof shorter);
	cr_assert(kept != first[0], "bytes with which others begin are not equal to them");
	share_fini(&share);
	cr_assert(!memcmp(kept, shorter, sizeof shorter), "what is kept outlives the table");
	arena_fini(&arena);
}

static void assert_moved(const char *folder, const char *bin, const char *data, const char *expected)
{
	char *moved = data_moved(folder, bin, data);
	cr_assert_eq(!moved, !expected, "%s: %s", folder, moved);
	if (moved)
		cr_assert_str_eq(moved, expected, "%s: %s", folder, moved);
	free(moved);
}

Test(base, data_lie_where_the_program_was_moved_to)
{
	const char *bin = "/usr/local/bin", *data = "/usr/local/share/t";
	assert_moved("/usr/local/bin", bin, data, "/usr/local/share/t");
	assert_moved("/root/usr/local/bin", bin, data, "/root/usr/local/share/t");
	assert_moved("/opt/t/bin", bin, data, "/opt/t/share/t");
	assert_moved("/bin", bin, data, "/share/t");
	assert_moved("/opt/t/sbin", bin, data, NULL);
	assert_moved("/opt/t/build", bin, data, NULL);
	assert_moved("", bin, data, NULL);
	/* no folder in common: only the prefix of DESTDIR is added */
	assert_moved("/root/a/bin", "/a/bin", "/b/share", "/root/b/share");
	assert_moved("/root/c/bin", "/a/bin", "/b/share", NULL);
	/* folders whose names only begin alike are other folders */
	assert_moved("/x/usr/bin", "/usr/bin", "/usr/binary", "/x/usr/binary");
	assert_moved("/x/bin", "bin", "share", NULL);
}

/* The distance of two texts is that of Levenshtein. */
Test(base, distances)
{
	static const struct {
		const char *one, *other;
		uint32_t distance;
	} cases[] = {{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "abd", 1},
		{"abc", "ac", 1}, {"ac", "abc", 1}, {"secondary", "secondaries", 3}, {"kitten", "sitting", 3},
		{"ab", "ba", 2}, {"/model/cart_1/cmd_ve", "/model/cart_1/cmd_vel", 1}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		cr_assert_eq(match_distance(cases[i].one, cases[i].other), cases[i].distance, "'%s' and '%s'",
			cases[i].one, cases[i].other);
		cr_assert_eq(match_distance(cases[i].other, cases[i].one), cases[i].distance);
	}
	char longer[300], other[300];
	memset(longer, 'a', sizeof longer);
	memset(other, 'b', sizeof other);
	longer[299] = other[299] = '\0';
	cr_assert_eq(match_distance(longer, other), 127);
}

/* The names for a message: those that a wrong name may mean, the nearest first; if it may mean none, the nearest. */
Test(base, near_names)
{
	static const char *const joints[] = {"left_wheel_joint", "right_wheel_joint", "caster", "arm", "Arm"};
	static const struct {
		const char *wrong, *best, *words;
	} cases[] = {{"left_weel_joint", "left_wheel_joint", ", such as \"left_wheel_joint\" or \"right_wheel_joint\""},
		{"right_wheel", "right_wheel_joint", ", such as \"right_wheel_joint\""},
		{"CASTER", "caster", ", such as \"caster\""}, {"arms", "arm", ", such as \"arm\" or \"Arm\""},
		{"robot::caster", "caster", ", such as \"caster\""},
		{"zzz", NULL, ", such as \"arm\", \"Arm\", \"caster\" or \"left_wheel_joint\" (of 5)"},
		{"", NULL, ", such as \"arm\", \"Arm\", \"caster\" or \"left_wheel_joint\" (of 5)"}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct near near = near_to(cases[i].wrong);
		cr_assert_null(near_best(&near));
		cr_assert_str_eq(near_such_as(&near), "");
		for (size_t k = 0; k < ARRAY_LEN(joints); k++)
			near_offer(&near, joints[k]);
		const char *best = near_best(&near);
		cr_assert(
			cases[i].best ? best && !strcmp(best, cases[i].best) : !best, "'%s': %s", cases[i].wrong, best);
		cr_assert_str_eq(near_such_as(&near), cases[i].words, "'%s':%s", cases[i].wrong, near.words);
	}
}

/* Names of any length are cut, never their number of bytes exceeded; after many comparisons offers are only counted. */
Test(base, near_names_have_limits)
{
	char name[1000];
	memset(name, 'a', sizeof name);
	name[sizeof name - 1] = '\0';
	struct near near = near_to(name);
	for (uint32_t i = 0; i < NEAR_COMPARED_MAX; i++)
		near_offer(&near, name + (i % 4));
	near_offer(&near, "b");
	cr_assert_eq(near.offered, NEAR_COMPARED_MAX + 1);
	cr_assert_eq(strlen(near_such_as(&near)), strlen(", such as \"\", \"\", \"\" or \"\"") + 4 * 60);
}

/* Commas, colons and ends of lines in both layouts, in objects and arrays in each other, some of them empty. */
static void write_sample(struct text *text, bool spaced)
{
	static const char *const names[] = {"a", "b"};
	static const double numbers[] = {0.5, -0.0};
	struct json_out out = {.text = text, .spaced = spaced};
	json_out_object(&out, NULL);
	if (spaced)
		json_out_lines(&out);
	json_out_string(&out, "quote\"", "\"\n\x9b");
	json_out_printf(&out, "made", "%s/%d", "\\", 7);
	json_out_uint(&out, "largest", UINT64_MAX);
	json_out_int(&out, "least", INT64_MIN);
	json_out_hash(&out, "hash", 0xab);
	json_out_array(&out, "list");
	json_out_object(&out, NULL);
	json_out_end(&out);
	json_out_array(&out, NULL);
	json_out_end(&out);
	json_out_bool(&out, NULL, true);
	json_out_double(&out, NULL, 0.1);
	json_out_end(&out);
	json_out_strings(&out, "names", names, ARRAY_LEN(names));
	json_out_doubles(&out, "numbers", numbers, ARRAY_LEN(numbers));
	json_out_array(&out, "lines");
	json_out_lines(&out);
	json_out_object(&out, NULL);
	json_out_bool(&out, "no", false);
	text_add(json_out_value(&out, "own"), "null");
	json_out_end(&out);
	json_out_int(&out, NULL, -1);
	json_out_end(&out);
	json_out_end(&out);
}

Test(base, json_is_written_with_its_commas)
{
	struct text text = {0};
	text_add(&text, "before ");
	write_sample(&text, false);
	cr_assert_str_eq(text.at,
		"before {\"quote\\\"\":\"\\\"\\u000a\\ufffd\",\"made\":\"\\\\/7\",\"largest\":18446744073709551615,"
		"\"least\":-9223372036854775808,\"hash\":\"00000000000000ab\",\"list\":[{},[],true,0.1],"
		"\"names\":[\"a\",\"b\"],\"numbers\":[0.5,-0],\"lines\":[\n    {\"no\":false,\"own\":null},\n    -1\n  "
		"]}");
	text.count = 0;
	write_sample(&text, true);
	cr_assert_str_eq(text.at,
		"{\n  \"quote\\\"\": \"\\\"\\u000a\\ufffd\",\n  \"made\": \"\\\\/7\",\n  \"largest\": "
		"18446744073709551615,\n  \"least\": -9223372036854775808,\n  \"hash\": \"00000000000000ab\",\n"
		"  \"list\": [{}, [], true, 0.1],\n  \"names\": [\"a\", \"b\"],\n  \"numbers\": [0.5, -0],\n"
		"  \"lines\": [\n    {\"no\": false, \"own\": null},\n    -1\n  ]\n}");
	text_fini(&text);
}

/* The vectors of RFC 4648. */
Test(base, json_has_bytes_in_base64)
{
	static const char *const wanted[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
	for (size_t count = 0; count < ARRAY_LEN(wanted); count++) {
		char line[16];
		struct text text = {0};
		json_out_base64(&(struct json_out){.text = &text}, NULL, "foobar", count);
		(void)snprintf(line, sizeof line, "\"%s\"", wanted[count]);
		cr_assert_str_eq(text.at, line);
		cr_assert_eq(text.count, strlen(line));
		text_fini(&text);
	}
}

/* What a terminal would obey, and what turns the text around it, is shown as an escape; other text stays as it is. */
Test(base, shown_text)
{
	static const struct {
		const char *text, *shown;
	} cases[] = {{"", ""},
		{"plain caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\xa4\x96", "plain caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\xa4\x96"},
		{"a\nb\tc\rd", "a\\nb\\tc\\rd"}, {"\x1b[2J\x7f", "\\x1b[2J\\x7f"},
		{"\xc2\x9b"
		 "31m",
			"\\u009b31m"},
		{"\xe2\x80\xaeX\xe2\x81\xa6", "\\u202eX\\u2066"}, {"\xe2\x80\xa8\xef\xbb\xbf", "\\u2028\\ufeff"},
		{"\xf3\xa0\x81\x81", "\\U000e0041"}, {"\x9b\xff", "\\x9b\\xff"}, {"\xc0\xaf", "\\xc0\\xaf"},
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"}, {"cut \xe2\x82", "cut ?"}, {"cut \xc3\"", "cut ?\""}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct text out = {0};
		char copy[100];
		shown_add(&out, cases[i].text);
		cr_assert_str_eq(out.at ? out.at : "", cases[i].shown, "%zu: %s", i, out.at);
		cr_assert_eq(shown_copy(copy, sizeof copy, cases[i].text), strlen(cases[i].shown));
		cr_assert_str_eq(copy, cases[i].shown);
		text_fini(&out);
	}
	char small[8];
	cr_assert_eq(shown_copy(small, sizeof small, "ab\xe2\x80\xae"), 2); /* an escape is not cut */
	cr_assert_str_eq(small, "ab");
	struct troupe_error error;
	fail(&error, TROUPE_EWORLD, "%s: \"%s\"", "w.sdf",
		"p\xc2\x9b"
		"2J\nforged");
	cr_assert_str_eq(error.text, "w.sdf: \"p\\u009b2J\\nforged\"");
	struct text json = {0};
	text_add_json(&json, "\"\xc2\x9b\xf3\xa0\x81\x81\xc3\xa9\x9b");
	cr_assert_str_eq(json.at, "\"\\\"\\u009b\\udb40\\udc41\xc3\xa9\\ufffd\"");
	text_fini(&json);
}

/* In a pattern ? is one character, of however many bytes; * is any number of characters. */
Test(base, patterns)
{
	static const struct {
		const char *glob, *text;
		bool matches;
	} cases[] = {{"", "", true}, {"", "a", false}, {"?", "", false}, {"?", "a", true}, {"?", "\xc3\xa9", true},
		{"??", "\xc3\xa9", false},
		{"?b",
			"\xe2\x82\xac"
			"b",
			true},
		{"a?c",
			"a\xf0\x9f\xa4\x96"
			"c",
			true},
		{"*", "", true}, {"*", "abc", true}, {"a*", "abc", true}, {"*c", "abc", true}, {"*b", "abc", false},
		{"a*b*c", "aXbYbZc", true}, {"a*b*c", "aXbYbZ", false}, {"*?", "\xc3\xa9", true}, {"*ab", "aab", true},
		{"?*?", "a", false}, {"cart_?", "cart_1", true}, {"cart_?", "cart_10", false}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		cr_assert_eq(match_glob(cases[i].glob, cases[i].text), cases[i].matches, "'%s' and '%s'", cases[i].glob,
			cases[i].text);
}

Test(base, texts_of_any_length_are_printed)
{
	static const int lengths[] = {0, 1, 254, 255, 256, 257, 5000};
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		char *text = mem_printf("%0*d", lengths[i], 7), *expected = malloc((size_t)lengths[i] + 2);
		int length = sprintf(expected, "%0*d", lengths[i], 7);
		cr_assert_str_eq(text, expected, "%d characters", length);
		free(text);
		free(expected);
	}
}
