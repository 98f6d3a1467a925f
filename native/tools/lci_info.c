/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file lci_info.c
 * Prints what a build of liblci.so finds on this machine, and its attributes: `lci_info [-v] PATH-OF-liblci.so`; with
 * -v also how it was built.
 * The library is opened at run time, so that the very file is looked at that programs load.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef size_t (*info_fn)(char*, size_t);
typedef const char* (*attr_fn)(uint32_t);

static void* symbol(void* library, const char* name) {
  void* address = dlsym(library, name);
  if (address == NULL) {
    fprintf(stderr, "lci_info: %s\n", dlerror());
    exit(EXIT_FAILURE);
  }
  return address;
}

/** Lines of "key<TAB>value", aligned; those on the build only if @p verbose. */
static void print_aligned(const char* text, int verbose) {
  while (*text != '\0') {
    int key = 0, value = 0;
    if (sscanf(text, "%*[^\t\n]%n\t%*[^\n]%n", &key, &value) == EOF || value == 0) {
      break;
    }
    if (verbose || strncmp(text, "build ", 6) != 0) {
      printf("%-24.*s %.*s\n", key, text, value - key - 1, text + key + 1);
    }
    text += value + (text[value] == '\n');
  }
}

static void print_machine(void* library, int verbose) {
  info_fn info = (info_fn)symbol(library, "lci_info");
  size_t size = info(NULL, 0);
  char* text = malloc(size > 0 ? size : 1);
  if (text == NULL || size == 0) {
    fprintf(stderr, "lci_info: no memory\n");
    exit(EXIT_FAILURE);
  }
  info(text, size);
  print_aligned(text, verbose);
  free(text);
}

static void print_attributes(void* library) {
  attr_fn name = (attr_fn)symbol(library, "lci_attr_name");
  attr_fn initial = (attr_fn)symbol(library, "lci_attr_default");
  attr_fn help = (attr_fn)symbol(library, "lci_attr_help");
  printf("\nAttributes: set by environment LCI_ATTR_NAME, or in code\n");
  for (uint32_t i = 0; name(i) != NULL; i++) {
    printf("%-24s %-12s %s\n", name(i), initial(i), help(i));
  }
}

int main(int argc, char** argv) {
  const int verbose = argc == 3 && strcmp(argv[1], "-v") == 0;
  if (argc != 2 + verbose) {
    fprintf(stderr, "usage: lci_info [-v] PATH-OF-liblci.so\n");
    return 2;
  }
  void* library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "lci_info: %s\n", dlerror());
    return EXIT_FAILURE;
  }
  print_machine(library, verbose);
  print_attributes(library);
  return EXIT_SUCCESS;
}
