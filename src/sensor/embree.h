/* The header of Embree 3 or 4, whichever configure has found (EMBREE_MAJOR), and what the two call by other names. */
#ifndef SENSOR_EMBREE_H
#define SENSOR_EMBREE_H

#include "config.h"

#if EMBREE_MAJOR == 3
#include <embree3/rtcore.h>
#define EMBREE_LIBRARY "libembree3.so.3" /* a run loads it by this name */
#define EMBREE_PACKAGE "libembree3-3"    /* Debian's, which has it */
#define EMBREE_OLDEST "3.13"
#else
#include <embree4/rtcore.h>
#define EMBREE_LIBRARY "libembree4.so.4"
#define EMBREE_PACKAGE "libembree4-4"
#define EMBREE_OLDEST "4.0"
#endif

/* What goes along with a search to the functions that it calls, and how it works: `context` comes first, so that a
 * struct that begins with this one can be reached from the context. */
struct embree_query {
#if EMBREE_MAJOR == 3
	struct RTCIntersectContext context;
#else
	struct RTCRayQueryContext context;
	struct RTCIntersectArguments arguments;
#endif
};

/* For rays that lie near each other. */
static inline void embree_query_init(struct embree_query *query)
{
#if EMBREE_MAJOR == 3
	rtcInitIntersectContext(&query->context);
	query->context.flags = RTC_INTERSECT_CONTEXT_FLAG_COHERENT;
#else
	rtcInitRayQueryContext(&query->context);
	rtcInitIntersectArguments(&query->arguments);
	query->arguments.context = &query->context;
	query->arguments.flags = RTC_RAY_QUERY_FLAG_COHERENT;
#endif
}

/* function: rtcIntersect8(), which the caller may have by dlsym() */
static inline void embree_intersect8(__typeof__(rtcIntersect8) *function, struct embree_query *query, const int *valid,
	RTCScene scene, struct RTCRayHit8 *packet)
{
#if EMBREE_MAJOR == 3
	function(valid, scene, &query->context, packet);
#else
	function(valid, scene, packet, &query->arguments);
#endif
}

#endif
