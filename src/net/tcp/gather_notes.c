/* The lines for people. Messages about unknown peers are limited in rate (log_limit.h), because any process can connect
 * at any rate. */
#include "net/tcp/gather_internal.h"

#include "base/clock.h"

#include <stdarg.h>
#include <string.h>

void gather_notes_say(const struct gathering *gathering, const char *format, ...)
{
	struct troupe_error text;
	va_list args;
	if (!gathering->session.listener)
		return;
	va_start(args, format);
	fail_v(&text, TROUPE_OK, format, args);
	va_end(args);
	gathering->host->on_note(gathering->host->ctx, text.text);
}

const char *gather_notes_word(uint32_t secondaries)
{
	return secondaries == 1 ? "secondary" : "secondaries";
}

void gather_notes_waiting(const struct gathering *gathering)
{
	const struct address *address =
		gathering->session.listener ? listener_address(gathering->session.listener) : NULL;
	char where[ADDRESS_TEXT_BYTES];
	struct text how = {0};
	if (!address)
		return;
	address_text(address, where);
	text_add(&how, "%s%s%s, ", where, address_is_wildcard(address) ? ", all interfaces" : "",
		address_is_loopback(address) ? ", this machine only" : "");
	if (gathering->session.discovery) {
		text_add(&how, "found by multicast at ");
		discovery_describe(gathering->session.discovery, &how);
	} else {
		text_add(&how, "not found by multicast (%s)", gathering->unheard.text);
	}
	text_add(&how, *gathering->hello.partition ? ", partition '%s'" : ", default partition%s",
		gathering->hello.partition);
	gather_notes_say(gathering, "waiting for %u %s at %s, %s", gathering->secondaries,
		gather_notes_word(gathering->secondaries), how.at, gathering->keyed ? "with a key" : "without a key");
	text_fini(&how);
}

/* Shows refused connections with the reasons, limited in rate. */
void gather_notes_refusals(struct gathering *gathering)
{
	struct address address;
	struct troupe_error why;
	char where[ADDRESS_TEXT_BYTES], host[ADDRESS_TEXT_BYTES];
	while (listener_take_refusal(gathering->session.listener, &address, &why)) {
		address_text(&address, where);
		address_host_text(&address, host);
		const char *reason = strstr(why.text, where) == why.text ? why.text + strlen(where) : why.text;
		if (log_limit_take(&gathering->log_limit, host, strlen(host), reason, clock_now_ns()))
			gather_notes_say(gathering, "turned away %s", why.text);
	}
}

/* Secondaries connect by themselves after our next announcement, so their announcements are only read, and checked
 * for reasons why they cannot join. */
void gather_notes_announcements(struct gathering *gathering)
{
	struct discovery *discovery = gathering->session.discovery;
	struct announcement announcement;
	struct address address;
	const char *why;
	char host[ADDRESS_TEXT_BYTES];
	uint64_t now = clock_now_ns();
	while (discovery && discovery_receive(discovery, now, &announcement, &address))
		;
	if (!discovery || !discovery_take_useless(discovery, &announcement, &address, &why))
		return;
	address_host_text(&address, host);
	if (log_limit_take(&gathering->log_limit_foreign, host, strlen(host), why, now))
		gather_notes_say(gathering, "a secondary at %s cannot join: it %s", host, why);
}

/* A peer with a valid hello can join and leave as often as it likes. So the first join of each number is always
 * shown, and later ones are limited in rate. */
void gather_notes_joined(struct gathering *gathering, const struct peers_action *action)
{
	const struct channel *channel = gathering->session.channels.at[action->id];
	uint32_t number = action->secondary, all = peers_secondaries(gathering->session.peers);
	gathering->join_shown[number] =
		!gathering->met[number] || log_limit_again(&gathering->log_limit_members, clock_now_ns());
	gathering->met[number] = true;
	gathering->join_shown[number] &= !gathering->members.again || peers_is_new(gathering->session.peers, number);
	if (!gathering->join_shown[number])
		return;
	uint32_t plain = all - gathering->members.clients;
	if (number > plain)
		gather_notes_say(gathering, "client '%s' joined as secondary %u of %u, from %s",
			gathering->members.names[number - plain - 1], number, all,
			channel ? channel_peer(channel) : "?");
	else
		gather_notes_say(gathering, "secondary %u of %u joined from %s", number, all,
			channel ? channel_peer(channel) : peers_name(gathering->session.peers, action->id));
}

/* Shown only if the join was shown. */
void gather_notes_lost(const struct gathering *gathering, const struct peers_action *action)
{
	if (gathering->join_shown[action->secondary])
		gather_notes_say(gathering, "%s; %u of %u present", action->bytes,
			peers_present(gathering->session.peers), gathering->secondaries);
}
