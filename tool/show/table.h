/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 * ompjit table: the runtime table for people and programs.
 */
#ifndef OMPJIT_TOOL_TABLE_H
#define OMPJIT_TOOL_TABLE_H

/* Runs the command; argv[0] is "table". Returns the exit status: 0; 1 for a
 * row that is not there; 2 for wrong usage. Writes to stdout and stderr. */
int tool_table(int argc, char **argv);

#endif
