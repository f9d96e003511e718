#include "system/system.h"

const struct system_ops *const system_builtin[] = {NULL};
