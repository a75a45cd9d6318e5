/*
 * tests/fuzz/replay.c - give a fuzz target's corpus to it, with any compiler
 *
 *	fuzz_x FILE-OR-DIRECTORY...
 *
 * An input that once broke something stays in the corpus, so every build runs
 * it again. A sub-directory is left out: new finds wait there to be looked at.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_BYTES = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A target may have something to set up; libFuzzer calls it too. */
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

static int give_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = malloc(MAX_BYTES);
	uint8_t *exact;
	size_t len;

	if (!f || !data) {
		fprintf(stderr, "replay: cannot read '%s'\n", path);
		exit(2);
	}
	len = fread(data, 1, MAX_BYTES, f);
	fclose(f);
	/* Exactly its size, so that a sanitizer sees a read past its end. */
	exact = malloc(len ? len : 1);
	if (!exact)
		exit(2);
	memcpy(exact, data, len);
	free(data);
	LLVMFuzzerTestOneInput(exact, len);
	free(exact);
	return 1;
}

static int give_dir(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int given = 0;

	while (dir && (entry = readdir(dir))) {
		char name[4096];
		struct stat st;

		snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
		if (stat(name, &st) == 0 && S_ISREG(st.st_mode))
			given += give_file(name);
	}
	if (dir)
		closedir(dir);
	return given;
}

int main(int argc, char **argv)
{
	int given = 0;

	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (int i = 1; i < argc; i++) {
		struct stat st;

		if (stat(argv[i], &st) < 0)
			continue;
		given += S_ISDIR(st.st_mode) ? give_dir(argv[i]) : give_file(argv[i]);
	}
	printf("%d inputs\n", given);
	if (!given)
		fprintf(stderr, "replay: the corpus is empty: '%s'\n", argc > 1 ? argv[1] : "");
	return given ? 0 : 1;
}
