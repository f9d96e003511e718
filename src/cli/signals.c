#include "cli/signals.h"

#include <signal.h>
#include <stddef.h>

static void set(int number, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
	sigemptyset(&action.sa_mask);
	sigaddset(&action.sa_mask, SIGINT);
	sigaddset(&action.sa_mask, SIGTERM);
	sigaddset(&action.sa_mask, SIGHUP);
	if (number == SIGHUP && !sigaction(SIGHUP, NULL, &old) && old.sa_handler == SIG_IGN)
		return;
	sigaction(number, &action, NULL);
}

void signals_set(void (*handler)(int), bool of_terminal)
{
	set(SIGTERM, handler);
	if (!of_terminal)
		return;
	set(SIGINT, handler);
	set(SIGHUP, handler);
}
