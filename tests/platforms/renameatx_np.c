// Offers the call of macOS on Linux, and notes each use in the file that RENAMES_NOTED names.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RENAME_SWAP 2
#define RENAME_EXCL 4

int renameatx_np(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags)
{
    const char *noted = getenv("RENAMES_NOTED");
    if (noted) {
        FILE *file = fopen(noted, "a");
        if (file) {
            fprintf(file, "%u\n", flags);
            fclose(file);
        }
    }
    if (flags == RENAME_SWAP)
        return renameat2(from_fd, from, to_fd, to, RENAME_EXCHANGE);
    if (flags == RENAME_EXCL)
        return renameat2(from_fd, from, to_fd, to, RENAME_NOREPLACE);
    errno = EINVAL;
    return -1;
}
