/* Logs consist of doubles, each in the shortest form that reads back as the same double. Between 1e-15 and 1e15 the
 * digits come from exact 128-bit integers; the C library's way, tried with 15 to 17 digits, is about ten times as
 * slow and remains for the rest. */
#include "base/text.h"

#include "base/c_locale.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By the C library: the least number of digits, from 15 to 17, that reads back as the same double. */
static void text_double_add_by_trying(struct text *text, double value)
{
	char buffer[40];
	locale_t before = uselocale(c_locale_get());
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(buffer, sizeof buffer, "%.*g", digits, value);
		if (strtod(buffer, NULL) == value)
			break;
	}
	uselocale(before);
	text_add_bytes(text, buffer, strlen(buffer));
}

#ifdef __SIZEOF_INT128__
/* The same in exact integers, about ten times as fast; logs consist of such numbers. value = mantissa * 2^exponent
 * with a mantissa of 53 bits, so value * 10^k = mantissa * 5^k / 2^shift, which fits into 128 bits while k <= 32. */
__extension__ typedef unsigned __int128 u128;

enum { FIVES = 28 };
#define FAST_MIN 1e-15
#define FAST_MAX 1e15

static u128 text_double_power_of_5(int k)
{
	static const uint64_t powers[FIVES] = {1u, 5u, 25u, 125u, 625u, 3125u, 15625u, 78125u, 390625u, 1953125u,
		9765625u, 48828125u, 244140625u, 1220703125u, 6103515625u, 30517578125u, 152587890625u, 762939453125u,
		3814697265625u, 19073486328125u, 95367431640625u, 476837158203125u, 2384185791015625u,
		11920928955078125u, 59604644775390625u, 298023223876953125u, 1490116119384765625u,
		7450580596923828125u};
	return k < FIVES ? powers[k] : (u128)powers[FIVES - 1] * powers[k - FIVES + 1];
}

struct decimal {
	uint64_t digits; /* as one number */
	int count;       /* number of digits */
	int power;       /* of ten, of the first digit */
};

/* Rounds to `count` digits, ties to even, as printf() does. power: of the first digit before rounding. Returns
 * whether the result reads back as the same double. */
static bool text_double_round_to(uint64_t mantissa, int exponent, int power, int count, struct decimal *ret_decimal)
{
	int k = count - 1 - power, shift = -(exponent + k);
	u128 scaled = mantissa * text_double_power_of_5(k), one = (u128)1 << shift, rest = scaled & (one - 1);
	uint64_t digits = (uint64_t)(scaled >> shift), limit = 1;
	bool up = rest > one / 2 || (rest == one / 2 && digits % 2);
	for (int i = 0; i < count; i++)
		limit *= 10;
	digits += up;
	*ret_decimal = digits == limit ? (struct decimal){limit / 10, count, power + 1}
				       : (struct decimal){digits, count, power};
	/* half the distance to the next double, in the same units: 5^k / 2; just below a power of two, half as much */
	u128 off = up ? one - rest : rest, half = text_double_power_of_5(k);
	off *= !up && mantissa == (uint64_t)1 << 52 ? 4 : 2;
	return off < half || (off == half && mantissa % 2 == 0);
}

static void text_double_add_decimal(struct text *text, bool negative, struct decimal decimal)
{
	char digits[24], buffer[40];
	size_t at = 0;
	for (; decimal.digits % 10 == 0; decimal.count--)
		decimal.digits /= 10;
	for (int i = decimal.count; i > 0; i--, decimal.digits /= 10)
		digits[i - 1] = (char)('0' + decimal.digits % 10);
	if (negative)
		buffer[at++] = '-';
	bool small = decimal.power < -4;
	int before = small ? 1 : decimal.power + 1; /* digits before the point */
	for (int i = 0; i < before; i++)
		buffer[at++] = i < decimal.count ? digits[i] : '0';
	if (before <= 0)
		buffer[at++] = '0';
	if (decimal.count > before)
		buffer[at++] = '.';
	for (int i = before; i < decimal.count; i++)
		buffer[at++] = i < 0 ? '0' : digits[i];
	if (small) {
		buffer[at++] = 'e';
		buffer[at++] = '-';
		buffer[at++] = (char)('0' + -decimal.power / 10);
		buffer[at++] = (char)('0' + -decimal.power % 10);
	}
	text_add_bytes(text, buffer, at);
}

static bool text_double_add_fast(struct text *text, double value)
{
	double size = fabs(value);
	uint64_t bits;
	struct decimal decimal;
	if (!(size >= FAST_MIN && size < FAST_MAX))
		return false;
	memcpy(&bits, &size, sizeof bits);
	uint64_t mantissa = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)1 << 52;
	int exponent = (int)(bits >> 52) - 1075;
	int power = (exponent + 52) * 30103 / 100000 - (exponent + 52 < 0); /* exact, or one too small */
	int k = 16 - (power + 1);
	/* 17 digits with power + 1 mean that power was one too small */
	if (mantissa * text_double_power_of_5(k) >> -(exponent + k) >= 10000000000000000u)
		power++;
	for (int count = 15; count <= 17; count++)
		if (text_double_round_to(mantissa, exponent, power, count, &decimal))
			break;
	text_double_add_decimal(text, value < 0, decimal);
	return true;
}
#else
static bool text_double_add_fast(struct text *text, double value)
{
	(void)text;
	(void)value;
	return false;
}
#endif

void text_add_double(struct text *text, double value)
{
	if (value == 0)
		text_add_bytes(text, signbit(value) ? "-0" : "0", signbit(value) ? 2 : 1);
	else if (!text_double_add_fast(text, value))
		text_double_add_by_trying(text, value);
}
