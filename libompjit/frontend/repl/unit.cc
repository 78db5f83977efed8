/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The files of this room as one translation unit: reading clang's headers takes
 * ten times as long as compiling one of the files.
 */
#include "frontend/repl/again.cc"
#include "frontend/repl/assigned.cc"
#include "frontend/repl/body.cc"
#include "frontend/repl/brief.cc"
#include "frontend/repl/complete.cc"
#include "frontend/repl/continued.cc"
#include "frontend/repl/device_variable.cc"
#include "frontend/repl/generate.cc"
#include "frontend/repl/instances.cc"
#include "frontend/repl/object.cc"
#include "frontend/repl/once.cc"
#include "frontend/repl/parse.cc"
#include "frontend/repl/pragma.cc"
#include "frontend/repl/reply.cc"
#include "frontend/repl/report.cc"
#include "frontend/repl/server.cc"
#include "frontend/repl/session.cc"
#include "frontend/repl/shape.cc"
#include "frontend/repl/thread_local.cc"
#include "frontend/repl/value.cc"
#include "frontend/repl/versions.cc"
