/* The signals that ask a run to leave. */
#ifndef CLI_SIGNALS_H
#define CLI_SIGNALS_H

#include <stdbool.h>

/* SIGTERM, and of a terminal, which sends them to all of its processes, SIGINT (Ctrl-C) and SIGHUP (it is gone). Who
 * was started to ignore SIGHUP (nohup) goes on doing so. May be called from a handler. */
void signals_set(void (*handler)(int), bool of_terminal);

#endif
