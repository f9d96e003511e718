/* What every transport must do. One test program for each back end includes this file and names its back end. */
#ifndef TESTS_TRANSPORT_SUITE_H
#define TESTS_TRANSPORT_SUITE_H

#include "net/transport.h"

/* Each returns NULL when all is well, else what is wrong. */
const char *suite_order_and_once(const struct transport_ops *ops, uint32_t secondaries, uint64_t steps);
const char *suite_primary_runs_once_per_step(const struct transport_ops *ops, uint32_t secondaries, uint64_t steps);
const char *suite_publish_refuses(const struct transport_ops *ops);
const char *suite_ack_refuses(const struct transport_ops *ops);
const char *suite_close_wakes(const struct transport_ops *ops, uint32_t secondaries);
const char *suite_close_delivers_first(const struct transport_ops *ops);
const char *suite_create_refuses(const struct transport_ops *ops);

#endif
