#include "sdf/sdf.h"

void sdf_print(const struct sdf *sdf, struct text *out)
{
	(void)sdf, (void)out;
}
