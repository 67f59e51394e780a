/* Opens the object as slurmd does, with the few functions of Slurm that it wants at once:
   shows that a glibc has every symbol it needs. Prints the names that Slurm reads. */
#include <dlfcn.h>
#include <stdio.h>

int spank_strerror, spank_setenv, spank_getenv, spank_option_register, spank_get_item, spank_context, slurm_error;

int main(int argc, char **argv)
{
	static const char *names[] = { "plugin_name", "plugin_type" };
	void *object = argc == 2 ? dlopen(argv[1], RTLD_LAZY) : NULL;

	if (!object) {
		fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: loads OBJECT");
		return 1;
	}
	for (unsigned i = 0; i < 2; i++) {
		const char *text = dlsym(object, names[i]);
		if (!text)
			return 2;
		printf("%s %s\n", names[i], text);
	}
	return 0;
}
