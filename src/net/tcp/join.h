/* A secondary's way to its primary over TCP: the slots of gather_ops (net/gather.h). */
#ifndef NET_TCP_JOIN_H
#define NET_TCP_JOIN_H

#include "net/gather.h"

troupe_status join_create(const struct gather_self *self, const struct gather_host *host, struct joining **ret_joining,
	struct troupe_error *error);
troupe_status join_run(struct joining *joining, struct troupe_error *error);
bool join_regroups(const struct joining *joining);
bool join_orphaned(const struct joining *joining);
const char *join_standby(const struct joining *joining);
troupe_status join_seek_standby(struct joining *joining, double wait_s, struct troupe_error *error);
troupe_status join_renew(struct joining *joining, double wait_s, struct troupe_error *error);
void join_wake(struct joining *joining);
troupe_status join_link(struct joining *joining, struct transport_link **ret_link, uint32_t *ret_secondaries,
	struct troupe_error *error);
void join_destroy(struct joining *joining);

#endif
