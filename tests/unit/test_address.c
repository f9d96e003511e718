/* Addresses of peers, in all forms, of both kinds. A second address that differs in one part only must not be taken for
 * the first. */
#include "net/address.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

TestSuite(address, .timeout = 60);

static struct troupe_error error;

static struct address address_at(const char *text)
{
	struct address address;
	cr_assert_eq(address_parse(text, 7, &address, &error), TROUPE_OK, "%s: %s", text, error.text);
	return address;
}

typedef troupe_status parse_function(const char *, uint16_t, struct address *, struct troupe_error *);

/* given: what is parsed, with the port 7; text: how it is printed, or a part of the reason why it is none. */
static void check_parse(parse_function *parse, const char *given, const char *text)
{
	struct address address;
	char found[ADDRESS_TEXT_BYTES], host[ADDRESS_TEXT_BYTES];
	troupe_status status = parse(given, 7, &address, &error);
	if (strstr(text, "expected") || strstr(text, "cannot")) {
		cr_assert_neq(status, TROUPE_OK, "'%s'", given);
		cr_assert_not_null(strstr(error.text, text), "'%s': %s", given, error.text);
		return;
	}
	cr_assert_eq(status, TROUPE_OK, "'%s': %s", given, error.text);
	address_text(&address, found);
	cr_assert_str_eq(found, text, "'%s' is %s: expected %s", given, found, text);
	address_host_text(&address, host);
	cr_assert_not_null(strstr(found, host), "'%s': host %s", given, host);
}

Test(address, every_form_is_read)
{
	static const struct {
		const char *given, *remote, *listening, *local;
	} cases[] = {{"10.0.0.3:4711", "10.0.0.3:4711", "10.0.0.3:4711", "expected an address of this machine"},
		{"10.0.0.3", "10.0.0.3:7", "10.0.0.3:7", "10.0.0.3:7"},
		{"[2001:db8::1]:65535", "[2001:db8::1]:65535", "[2001:db8::1]:65535", "expected an address"},
		{"[::1]", "[::1]:7", "[::1]:7", "[::1]:7"}, {"", "127.0.0.1:7", "127.0.0.1:7", "expected an address"},
		{":5", "127.0.0.1:5", "127.0.0.1:5", "expected an address"},
		{"*", "cannot find host '*'", "0.0.0.0:7", "0.0.0.0:7"},
		{"*:9", "cannot find host '*'", "0.0.0.0:9", "expected an address"},
		{"127.0.0.1:0", "port 0: expected 1 to 65535", "127.0.0.1:0", "expected an address"},
		{":0", "port 0: expected 1 to 65535", "127.0.0.1:0", "expected an address"},
		{"10.0.0.3:65536", "is not an address: expected", "is not an address: expected", "expected an address"},
		{"10.0.0.3:", "is not an address: expected", "is not an address: expected", "expected an address"},
		{"[::1:5", "is not an address: expected", "is not an address: expected", "expected an address"}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		check_parse(address_parse, cases[i].given, cases[i].remote);
		check_parse(address_parse_listen, cases[i].given, cases[i].listening);
		check_parse(address_parse_local, cases[i].given, cases[i].local);
	}
	check_parse(address_parse_local, "localhost", "127.0.0.1:7");
	check_parse(address_parse_local, NULL, "127.0.0.1:7");
	check_parse(address_parse_local, "::1", "[::1]:7");
}

Test(address, no_address_answers_every_question)
{
	const struct address none = {0};
	struct address v4 = address_at("10.0.0.3"), set = {0};
	char text[ADDRESS_TEXT_BYTES];
	address_text(&none, text);
	cr_assert_str_eq(text, "nowhere");
	cr_assert(!address_is_wildcard(&none) && !address_is_loopback(&none) && address_port(&none) == 0);
	cr_assert(!address_same_host(&none, &none) && !address_same_host(&none, &v4) && !address_same_host(&v4, &none));
	address_set_port(&set, 4);
	cr_assert_eq(address_port(&set), 0);
}

Test(address, hosts_are_told_apart)
{
	static const struct {
		const char *a, *b;
		bool same_host, host, net; /* host, net: of their senders */
	} cases[] = {{"10.0.0.3:1", "10.0.0.3:2", true, true, true}, {"10.0.0.3", "10.0.0.4", false, false, true},
		{"10.0.0.3", "10.0.1.3", false, false, false}, {"10.0.0.3", "11.0.0.3", false, false, false},
		{"[2001:db8::1]:1", "[2001:db8::1]:2", true, true, true},
		{"[2001:db8::1]", "[2001:db8::2]", false, true, true},
		{"[2001:db8:0:1::1]", "[2001:db8:0:2::1]", false, false, true},
		{"[2001:db8:1::1]", "[2001:db8:2::1]", false, false, false},
		{"[::1]", "127.0.0.1", false, false, false}, {"[::ffff:10.0.0.3]", "10.0.0.3", false, true, true}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (int turned = 0; turned < 2; turned++) {
			struct address a = address_at(turned ? cases[i].b : cases[i].a),
				       b = address_at(turned ? cases[i].a : cases[i].b);
			struct sender one = address_sender(&a), other = address_sender(&b);
			cr_assert_eq(address_same_host(&a, &b), cases[i].same_host, "%s", cases[i].a);
			cr_assert_eq(one.host == other.host, cases[i].host, "%s %s", cases[i].a, cases[i].b);
			cr_assert_eq(one.net == other.net, cases[i].net, "%s %s", cases[i].a, cases[i].b);
		}
}

Test(address, what_only_this_machine_reaches)
{
	static const struct {
		const char *text;
		bool wildcard, loopback;
	} cases[] = {{"127.0.0.1", false, true}, {"127.9.8.7", false, true}, {"128.0.0.1", false, false},
		{"0.0.0.0", true, false}, {"10.0.0.3", false, false}, {"[::1]", false, true}, {"[::]", true, false},
		{"[::2]", false, false}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct address address = address_at(cases[i].text);
		cr_assert_eq(address_is_wildcard(&address), cases[i].wildcard, "%s", cases[i].text);
		cr_assert_eq(address_is_loopback(&address), cases[i].loopback, "%s", cases[i].text);
		address_set_port(&address, 513);
		cr_assert_eq(address_port(&address), 513);
	}
}

/* Two sockets that listen get ports of their own, and each has the connections that are made to it. */
Test(address, sockets_listen_and_accept)
{
	struct address at[2], from;
	int listeners[2];
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(address_parse_listen("127.0.0.1:0", 0, &at[i], &error), TROUPE_OK, "%s", error.text);
		listeners[i] = address_listen(&at[i], 4);
		cr_assert_geq(listeners[i], 0);
		cr_assert_neq(address_port(&at[i]), 0);
	}
	cr_assert_neq(address_port(&at[0]), address_port(&at[1]));
	int client = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert_eq(connect(client, (const struct sockaddr *)(const void *)at[1].raw, at[1].raw_bytes), 0);
	cr_assert_eq(address_accept(listeners[0], &from), -1);
	int accepted = address_accept(listeners[1], &from), at_once = 0;
	cr_assert_geq(accepted, 0);
	cr_assert_eq(getsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &at_once, &(socklen_t){sizeof at_once}), 0);
	cr_assert(at_once, "small messages are sent at once");
	cr_assert(address_same_host(&from, &at[1]) && address_port(&from) != address_port(&at[1]));
	struct address taken = at[1];
	cr_assert_eq(address_listen(&taken, 4), -1);
	close(accepted);
	close(client);
	close(listeners[0]);
	close(listeners[1]);
}

static struct address address_of_words(const uint32_t words[4], uint32_t zone)
{
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(7), .sin6_scope_id = zone};
	struct address address = {.raw_bytes = sizeof v6};
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 4; k++)
			v6.sin6_addr.s6_addr[4 * i + k] = (unsigned char)(words[i] >> (24 - 8 * k));
	memcpy(address.raw, &v6, sizeof v6);
	return address;
}

/* Of each four words one or more are another, the last one also by its lowest bit. */
Test(address, each_word_of_an_ipv6_address_counts)
{
	for (uint32_t mask = 0; mask < 16; mask++)
		for (uint32_t last = 1; last <= 2; last++) {
			uint32_t words[4];
			for (int i = 0; i < 4; i++)
				words[i] = !(mask >> i & 1) ? 0 : i == 3 ? last : UINT32_C(0x20010db8);
			struct address address = address_of_words(words, 0);
			cr_assert_eq(address_is_wildcard(&address), mask == 0, "%x", mask);
			cr_assert_eq(address_is_loopback(&address), mask == 8 && last == 1, "%x %u", mask, last);
			for (int i = 0; i < 4; i++) {
				uint32_t others[4] = {words[0], words[1], words[2], words[3]};
				others[i] ^= 1u << 8 * i;
				struct address other = address_of_words(others, 0), same = address_of_words(words, 0);
				cr_assert(!address_same_host(&address, &other) && address_same_host(&address, &same));
			}
		}
}

/* The zone of an address that holds on one link only. An interface that has gone has no name. */
Test(address, zones)
{
	static const uint32_t words[] = {UINT32_C(0xfe800000), 0, 0, 1}, mapped[] = {0, 0, 0xffff, 0x0a000003};
	char text[ADDRESS_TEXT_BYTES];
	const struct {
		uint32_t zone;
		const char *text;
	} cases[] = {{0, "fe80::1"}, {if_nametoindex("lo"), "fe80::1%lo"}, {INT32_MAX, "fe80::1"}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct address address = address_of_words(words, cases[i].zone);
		address_host_text(&address, text);
		cr_assert_str_eq(text, cases[i].text);
	}
	struct address v4 = address_at("10.0.0.3"), in_v6 = address_of_words(mapped, 0), none = {.raw_bytes = 0};
	cr_assert(address_sender(&v4).host == address_sender(&in_v6).host &&
			  address_sender(&v4).net == address_sender(&in_v6).net,
		"an IPv4 peer of a socket for both kinds is another sender");
	cr_assert_eq(address_sender(&none).host, 0);
}

Test(address, a_port_that_is_taken)
{
	struct address first = address_at("127.0.0.1:1"), second;
	address_set_port(&first, 0);
	int file = address_listen(&first, 1);
	cr_assert(file >= 0 && address_port(&first) > 0);
	second = first;
	cr_assert(
		address_listen(&second, 1) < 0 && errno == EADDRINUSE && address_port(&second) == address_port(&first));
	cr_assert_eq(address_parse("203.0.113.1:9", 7, &second, &error), TROUPE_OK);
	cr_assert(address_listen(&second, 1) < 0 && errno == EADDRNOTAVAIL, "an address of another machine");
	cr_assert_eq(close(file), 0);
}
