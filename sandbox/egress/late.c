#include <dlfcn.h>

#include "base/err.h"
#include "sandbox/egress/late.h"

int late_load(const char *file, const struct late_call *calls, size_t n, void *table, struct err *err)
{
	void *lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return err_set(err, ERR_MISSING, 0, "cannot load '%s'", file);
	for (size_t i = 0; i < n; i++) {
		void *f = dlsym(lib, calls[i].name);

		if (!f)
			return err_set(err, ERR_MISSING, 0, "'%s' has no %s", file, calls[i].name);
		*(void **)(void *)((char *)table + calls[i].offset) = f;
	}
	return 0;
}
