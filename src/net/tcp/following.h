/* The standby's side of following (net/follow.h): slots of struct follow_ops. */
#ifndef NET_TCP_FOLLOWING_H
#define NET_TCP_FOLLOWING_H

#include "net/follow.h"
#include "net/gather.h"

troupe_status following_create(const struct gather_self *self, const struct follow_host *host,
	struct following **ret_following, struct troupe_error *error);
troupe_status following_run(struct following *following, struct follow_term *ret_term, struct troupe_error *error);
void following_wake(struct following *following);
void following_destroy(struct following *following);

#endif
