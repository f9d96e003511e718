/* Numbers and words from text, independent of the process's locale. Pure; any thread. */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include "base/base.h"

/* Whole-word parsers: false when text is not exactly one such number (blanks around it are allowed).
 * parse_double takes what strtod takes in the C locale, "inf" and "nan" included: callers decide what is sane. */
bool parse_double(const char *text, double *ret_value);
bool parse_int64(const char *text, int64_t *ret_value);
bool parse_uint64(const char *text, uint64_t *ret_value);
bool parse_bool(const char *text, bool *ret_value); /* true false 1 0, any case */
/* Up to max numbers separated by blanks; the count, or -1 when a word is not a number or there are more than max. */
int parse_doubles(const char *text, double *ret_values, int max);

#endif
