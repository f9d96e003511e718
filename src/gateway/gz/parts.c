/* Peers may send anything through a connection, so the number of parts and each name in them is checked before any of
 * it is used: the address for a reply above all, since the node connects to it. */
#include "gateway/gz/parts.h"

#include <string.h>

static bool gz_parts_is_type(struct part part)
{
	return names_is_type(part.at, part.count);
}

static bool gz_parts_is_id(struct part part)
{
	return names_is_id(part.at, part.count);
}

bool parts_read_message(const struct part *parts, uint32_t count, struct parts_message *ret_message)
{
	if ((count != 4 && count != 5) || !parts[0].count || parts[0].count > NAMES_FULL_MAX ||
		!gz_parts_is_type(parts[3]))
		return false;
	*ret_message = (struct parts_message){parts[0], parts[1], parts[2], parts[3]};
	return true;
}

bool parts_read_request(const struct part *parts, uint32_t count, struct parts_request *ret_request)
{
	if (count != 9 || !parts[1].count || parts[1].count > NAMES_FULL_MAX || !gz_parts_is_id(parts[3]) ||
		!gz_parts_is_id(parts[4]) || !gz_parts_is_id(parts[5]) || !gz_parts_is_type(parts[7]) ||
		!gz_parts_is_type(parts[8]))
		return false;
	char type[NAMES_TYPE_MAX + 1];
	struct parts_request request = {.service = parts[1],
		.address = parts[2],
		.id = parts[3],
		.node = parts[4],
		.request = parts[5],
		.bytes = parts[6],
		.type = parts[7],
		.reply_type = parts[8]};
	parts_copy(request.reply_type, type, sizeof type);
	request.one_way = names_is_empty_type(type);
	if (!request.one_way && !names_endpoint_parse(request.address.at, request.address.count, &request.endpoint))
		return false;
	*ret_request = request;
	return true;
}

bool parts_read_reply(const struct part *parts, uint32_t count, struct parts_reply *ret_reply)
{
	if (count != 6 || !gz_parts_is_id(parts[3]))
		return false;
	*ret_reply = (struct parts_reply){parts[3], parts[4], parts[5].count == 1 && *parts[5].at == '1'};
	return true;
}

void parts_copy(struct part part, char *ret_text, size_t room)
{
	size_t count = MIN(part.count, room - 1);
	memcpy(ret_text, count ? part.at : "", count);
	ret_text[count] = '\0';
}
