/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The process of a session. It forks for each input: the child reads it, makes
 * code and answers, so that whatever it does wrong is over with it. When the
 * input is good and the session keeps it, this process reads it, too. So no
 * error leaves anything behind, and a fork takes 0.2 ms however many inputs
 * there were. (A child that went on as the session would fork more slowly each
 * time: Linux looks at all ancestors of a page.)
 */
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <clang/AST/DeclOpenMP.h>
#include <llvm/IR/Module.h>

#include "frontend/repl/repl.h"

using namespace ompjit_repl;

namespace {

enum { REQUESTS, ANSWERS }; /* descriptors */

/* ----------------------------------------------------------------- channel */

/* False: there is no more. */
bool read_all(int from, void *to, size_t size)
{
    auto *at = static_cast<char *>(to);
    while (size) {
        ssize_t n = read(from, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

bool read_request(ompjit__repl_head &head, std::string &bytes,
                  int from = REQUESTS)
{
    if (!read_all(from, &head, sizeof head))
        return false;
    bytes.resize(head.size);
    return read_all(from, &bytes[0], head.size);
}

/* False: nobody reads any more. */
bool write_all(int to, const void *from, size_t size)
{
    auto *at = static_cast<const char *>(from);
    while (size) {
        ssize_t n = write(to, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* Has one come, or a part of it, within so many milliseconds? */
bool has_request(int ms)
{
    struct pollfd fd = {REQUESTS, POLLIN, 0};
    return poll(&fd, 1, ms) != 0;
}

uint32_t serial; /* of the request that is answered */

void write_piece(unsigned kind, const char *data, unsigned size)
{
    char piece[OMPJIT__REPL_PIECE];
    const ompjit__repl_piece head = {kind, (uint32_t)getpid(), size, serial};
    const unsigned bytes = kind == OMPJIT__REPL_LOST ? 0 : size;
    memcpy(piece, &head, sizeof head);
    if (bytes)
        memcpy(piece + sizeof head, data, bytes);
    while (write(ANSWERS, piece, sizeof head + bytes) < 0 && errno == EINTR)
        ;
}

/* As much of it as fits into a piece. */
void write_text(unsigned kind, const std::string &text)
{
    enum { ROOM = OMPJIT__REPL_PIECE - sizeof(ompjit__repl_piece) };
    write_piece(kind, text.data(),
                (unsigned)std::min<size_t>(text.size(), ROOM));
}

void write_reply(const ompjit__buf &reply)
{
    enum { ROOM = OMPJIT__REPL_PIECE - sizeof(ompjit__repl_piece) };
    size_t at = 0;
    for (; reply.size - at > ROOM; at += ROOM)
        write_piece(OMPJIT__REPL_PART, reply.data + at, ROOM);
    write_piece(OMPJIT__REPL_REPLY, reply.data + at,
                (unsigned)(reply.size - at));
}

std::string read_string(ompjit__reader *r)
{
    char *s = ompjit__read_string(r);
    std::string copy = s ? s : "";
    free(s);
    return copy;
}

Input read_input_request(ompjit__reader *r)
{
    Input input;
    size_t size;
    input.number = (unsigned)ompjit__read_number(r);
    input.line = (unsigned)ompjit__read_number(r);
    input.mode = (unsigned)ompjit__read_number(r);
    input.colours = ompjit__read_number(r) != 0;
    input.name = read_string(r);
    const void *text = ompjit__read_bytes(r, &size);
    input.text.assign(static_cast<const char *>(text), size);
    for (size_t n = ompjit__read_count(r); n; n--) {
        const auto begin = (unsigned)ompjit__read_number(r);
        input.blanks.push_back({begin, (unsigned)ompjit__read_number(r)});
    }
    for (size_t n = ompjit__read_count(r); n; n--) {
        const auto number = (unsigned)ompjit__read_number(r);
        const auto offset = (unsigned)ompjit__read_number(r);
        input.hidden.push_back({number, offset, read_string(r)});
    }
    return input;
}

std::map<unsigned, Earlier> read_lacking(ompjit__reader *r)
{
    std::map<unsigned, Earlier> lacking;
    for (size_t n = ompjit__read_count(r); n; n--) {
        Earlier &earlier = lacking[(unsigned)ompjit__read_number(r)];
        size_t size;
        const void *symbols = ompjit__read_bytes(r, &size);
        ompjit__reader names = {static_cast<const char *>(symbols), size,
                                false};
        for (size_t i = ompjit__read_count(&names); i; i--)
            earlier.lacks.insert(read_string(&names));
        const void *host = ompjit__read_bytes(r, &size);
        earlier.host.assign(static_cast<const char *>(host), size);
    }
    return lacking;
}

/* ------------------------------------------------------------------ server */

class Server {
  public:
    explicit Server(Session &session) : session(session)
    {
        if (!session.device)
            generator = std::make_unique<Generator>(session);
    }

    void run()
    {
        ompjit__repl_head head;
        std::string bytes;
        bool more = read_request(head, bytes);
        while (more) {
            ompjit__reader r = {bytes.data(), bytes.size(), false};
            serial = head.serial;
            if (head.kind == OMPJIT__REPL_INPUT)
                good = try_input(head, bytes);
            else
                drop_standby();
            if (head.kind == OMPJIT__REPL_REPLAY && replay(head, bytes))
                continue;
            if (head.kind == OMPJIT__REPL_KEEP) {
                keep(read_lacking(&r));
                note_statics(&r, last.number);
            }
            if (may_stand_by(head) && !has_request(REST_MS))
                begin_standby();
            more = read_request(head, bytes);
        }
    }

  private:
    enum { GOOD, NOT_GOOD, LOST }; /* exit codes of children */

    Session &session;
    std::unique_ptr<Generator> generator; /* the host half's */
    Input last;
    bool good = false;   /* so was that  */
    /* In a child of the device half: it has been told of the host half, and its
     * code is wanted. */
    bool asked = false, wanted = false;
    bool answers = false; /* code of earlier inputs may be */
    /* The last module is so. */
    bool once = false, brief = false, nothing_stays = false;

    /* In a child: `work` answers. False: it ended otherwise than by itself, or
     * with NOT_GOOD. */
    template <typename Work> bool in_child(Work work)
    {
        const pid_t child = fork();
        if (!child)
            carry_out(work);
        return end_of(child);
    }

    template <typename Work> [[noreturn]] static void carry_out(Work work)
    {
        write_piece(OMPJIT__REPL_BEGUN, nullptr, 0);
        work();
        _exit(GOOD);
    }

    static bool end_of(pid_t child)
    {
        int status = 0;
        while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
        const bool by_itself = child > 0 && WIFEXITED(status);
        if (!by_itself || WEXITSTATUS(status) > NOT_GOOD)
            write_piece(OMPJIT__REPL_LOST, nullptr, (unsigned)status);
        return by_itself && WEXITSTATUS(status) == GOOD;
    }

    /* True: it is good. */
    bool try_input(const ompjit__repl_head &head, const std::string &bytes)
    {
        ompjit__reader r = {bytes.data(), bytes.size(), false};
        last = read_input_request(&r);
        if (last.mode == OMPJIT__REPL_CODE && ask_standby(head, bytes))
            return end_of(std::exchange(standby, 0));
        return in_child([this] { work(); });
    }

    /* In a child, with the last input. */
    void work()
    {
        limit_memory();
        if (last.mode == OMPJIT__REPL_COMPLETE) {
            complete();
            return;
        }
        session.report.on_end = [this] { answer_early(); };
        answer();
    }

    /* --------------------------------------------------------- standby */

    /* A child that was begun while nobody waited, for the next input of the host
     * half: a new process has to get its memory page by page, which is a quarter
     * of an input's time. It has compiled an input that nobody sees, says that it
     * is ready, and waits for a request. */
    enum { REST_MS = 3 };
    pid_t standby = 0; /* 0: none */
    int to_standby = -1;

    /* A good input is kept next, which changes the session. The files of -include
     * are read with the first input. */
    bool may_stand_by(const ompjit__repl_head &head) const
    {
        const bool is_kept_next = head.kind == OMPJIT__REPL_INPUT && good &&
                                  last.mode == OMPJIT__REPL_CODE;
        return !session.device && !standby && !is_kept_next &&
               session.includes.empty();
    }

    void begin_standby()
    {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
            return;
        standby = fork();
        if (!standby) {
            close(ends[1]);
            stand_by(ends[0]);
        }
        close(ends[0]);
        to_standby = ends[1];
        if (standby < 0) {
            close(to_standby);
            standby = 0;
        }
    }

    [[noreturn]] void stand_by(int channel)
    {
        ompjit__repl_head head;
        std::string bytes;
        warm_up();
        if (!write_all(channel, "", 1) || !read_request(head, bytes, channel))
            _exit(NOT_GOOD);
        ompjit__reader r = {bytes.data(), bytes.size(), false};
        serial = head.serial;
        last = read_input_request(&r);
        carry_out([this] { work(); });
    }

    /* The input has a number that no other has. */
    void warm_up()
    {
        Result result;
        std::string code;
        last = Input();
        last.number = UINT_MAX;
        last.name = "none";
        last.text = "{ int i = 0; if (i++) i--; }";
        session.report.on_end = [] { _exit(NOT_GOOD); };
        read(result);
        if (session.report.bad || !make_code(result, code))
            _exit(NOT_GOOD);
        generator->next(UINT_MAX);
        restore_types(session);
        session.recorder.begin();
    }

    /* False: there is no child that has taken the request. */
    bool ask_standby(const ompjit__repl_head &head, const std::string &bytes)
    {
        char ready;
        if (!standby)
            return false;
        const bool taken =
            recv(to_standby, &ready, 1, MSG_DONTWAIT) == 1 &&
            write_all(to_standby, &head, sizeof head) &&
            write_all(to_standby, bytes.data(), bytes.size());
        if (taken)
            close(to_standby);
        else
            drop_standby();
        return taken;
    }

    void drop_standby()
    {
        if (!standby)
            return;
        close(to_standby);
        kill(standby, SIGKILL);
        waitpid(standby, nullptr, 0);
        standby = 0;
    }

    /* The system kills whoever takes all memory, and may choose another. */
    static void limit_memory()
    {
        const struct rlimit limit = {(rlim_t)4 << 30, (rlim_t)4 << 30};
        setrlimit(RLIMIT_DATA, &limit);
    }

    /* The text ends too early: nothing can follow. */
    void answer_early()
    {
        ompjit__buf reply = {};
        reply_head(session.report,
                   session.report.at_end ? OMPJIT__REPL_UNDONE
                                         : OMPJIT__REPL_BAD,
                   &reply);
        finish(reply, NOT_GOOD);
    }

    /* The device half is not asked for an answer before there is code of the host
     * half to be told of. */
    [[noreturn]] void finish(const ompjit__buf &reply, int code)
    {
        read_host();
        if (!session.device || wanted || answers)
            write_reply(reply);
        else if (code != GOOD)
            write_text(OMPJIT__REPL_UNFIT, session.report.text);
        _exit(code);
    }

    /* Reads the input that was asked for last. */
    void read(Result &result)
    {
        session.report.begin(last.colours);
        if (last.mode == OMPJIT__REPL_SHOW) /* in a child */
            session.compiler.getDiagnostics().setIgnoreAllWarnings(true);
        session.macros.clear();
        session.symbols_for_all.clear();
        hide(session, last);
        read_input(session, last, result);
    }

    void answer()
    {
        Result result;
        ompjit__buf reply = {};
        read(result);
        const Report &report = session.report;
        read_host();
        if (report.bad && report.at_end) {
            reply_head(report, OMPJIT__REPL_UNDONE, &reply);
        } else if (report.bad && !report.conflicts.empty()) {
            // Errors beside these may come of the old declaration's type.
            std::vector<Range> blanks;
            std::vector<Place> hidden;
            resolve(session, last, result, blanks, hidden);
            reply_head(report, OMPJIT__REPL_AGAIN, &reply);
            reply_again(blanks, hidden, &reply);
        } else {
            answer_with_code(result, &reply);
        }
        finish(reply, report.bad ? NOT_GOOD : GOOD);
    }

    void answer_with_code(const Result &result, ompjit__buf *reply)
    {
        std::string code;
        std::set<std::string> lacks;
        std::vector<Remade> remade;
        llvm::Module *module = nullptr;
        if (!session.report.bad && last.mode != OMPJIT__REPL_LOOK)
            module = make_code(result, code);
        if (session.device && module)
            lacks = generator->lacks();
        if (session.device && !session.report.bad)
            remade = make_again(session);
        const bool good = !session.report.bad;
        reply_head(session.report,
                   good ? OMPJIT__REPL_GOOD : OMPJIT__REPL_BAD, reply);
        if (!good)
            return;
        reply_good(session, result, reply);
        ompjit__pack_number(reply, module && has_entries(*module));
        ompjit__pack_number(reply, module && generator->constructs);
        ompjit__pack_number(reply, once);
        ompjit__pack_number(reply, brief);
        ompjit__pack_number(reply, nothing_stays);
        ompjit__pack_bytes(reply, code.data(), code.size());
        if (session.device)
            reply_lacking(lacks, remade, reply);
    }

    static void reply_lacking(const std::set<std::string> &lacks,
                              const std::vector<Remade> &remade,
                              ompjit__buf *reply)
    {
        ompjit__buf symbols = {};
        reply_symbols(lacks, &symbols);
        ompjit__pack_bytes(reply, symbols.data, symbols.size);
        ompjit__buf_free(&symbols);
        reply_again_made(remade, reply);
    }

    /* Entries of target regions, or of variables that devices have. */
    static bool has_entries(const llvm::Module &module)
    {
        for (const llvm::GlobalVariable &variable : module.globals())
            if (variable.getSection() == "llvm_offload_entries")
                return true;
        return false;
    }

    llvm::Module *make_code(const Result &result, std::string &code)
    {
        settle_symbols(session, last, result);
        if (session.device && !wanted)
            return nullptr;
        if (last.mode == OMPJIT__REPL_SHOW)
            find_shapes(session);
        if (session.device)
            generator = std::make_unique<Generator>(session);
        llvm::Module *module = generator->generate(last.number);
        if (!module)
            return nullptr;
        define_shapes(session, *module);
        if (last.mode == OMPJIT__REPL_SHOW)
            module->setSourceFileName("value"); /* and no number of an input */
        if (!session.device) {
            drop_marks(*module);
            leave_rare_code(*module, last.number);
            find_pace(*module);
        }
        code = bitcode_of(*module);
        return module;
    }

    /* An input with target regions is optimized at once, and by -O0 none is. Nor is
     * code that shows an object, which is compiled once. */
    void find_pace(llvm::Module &module)
    {
        once = runs_once(module, last.number);
        nothing_stays = leaves_nothing(module, last.number);
        const bool never =
            has_entries(module) || last.mode == OMPJIT__REPL_SHOW ||
            !session.compiler.getCodeGenOpts().OptimizationLevel;
        const Brief how = never ? Brief::NO : is_brief(session, module);
        brief = how != Brief::NO;
        if (brief && !once)
            share_variables(session, module, last.number);
        if (how == Brief::IF_CONTINUED)
            continue_loops(session, module, last.number);
    }

    /* The device half has to know which regions the host half has before code is
     * made. It makes none where there are none, and does not count where the host
     * half is not good. */
    void read_host()
    {
        ompjit__repl_head head;
        std::string host;
        if (!session.device || asked)
            return;
        asked = true;
        if (!read_request(head, host) || head.kind == OMPJIT__REPL_DROP)
            _exit(NOT_GOOD);
        answers = head.kind == OMPJIT__REPL_AGAIN_ONLY;
        wanted = !host.empty();
        if (wanted && !take_host_half(session, host))
            _exit(LOST);
    }

    /* Names are found in the middle of the parser's work, which is not gone on
     * with. */
    void complete()
    {
        Result result;
        std::vector<Completion> words;
        session.report.on_end = [] {};
        session.report.on_names = [&](const auto &names) {
            ompjit__buf reply = {};
            words.insert(words.end(), names.begin(), names.end());
            session.report.text.clear();
            session.report.messages.clear();
            reply_head(session.report, OMPJIT__REPL_NAMES, &reply);
            reply_names(words, &reply);
            finish(reply, NOT_GOOD);
        };
        if (!pragma_names(last.text,
                          session.compiler.getLangOpts().OpenMP, words))
            read(result);
        session.report.on_names({});
    }

    /* At the end of each input clang goes through the functions of all inputs,
     * for errors that count only where a function is compiled. While there are
     * none, those that it has gone through need no second look. */
    void forget_checked()
    {
        clang::Sema &sema = session.sema;
        if (sema.DeviceDeferredDiags.empty())
            sema.DeclsToCheckForDeferredDiags.clear();
    }

    /* The input is a part of the session from now on. The device half goes on
     * without one that is not for devices. */
    void keep(const std::map<unsigned, Earlier> &lacking)
    {
        Result result;
        if (!good)
            return;
        read(result);
        take(result, lacking);
    }

    /* It has been read. */
    void take(const Result &result, const std::map<unsigned, Earlier> &lacking)
    {
        settle_symbols(session, last, result);
        if (generator) {
            generator->generate(last.number);
            generator->next(last.number + 1);
        }
        keep_instances(session);
        keep_statics(session);
        note_lacking(lacking);
        session.files[last.number] = session.report.reading;
        session.includes.clear();
        for (clang::DeclGroupRef group : session.recorder.groups)
            if (group.isSingleDecl() &&
                llvm::isa<clang::OMPRequiresDecl>(group.getSingleDecl()))
                session.requirements.push_back(group);
        restore_types(session);
        name_value(session);
        forget_checked();
        session.recorder.begin();
    }

    /* The input and those whose code was made again. */
    void note_lacking(const std::map<unsigned, Earlier> &lacking)
    {
        std::map<unsigned, Earlier> &all = session.earlier;
        const auto own = lacking.find(last.number);
        if (own != lacking.end())
            all[last.number] = remember(session, own->second.host);
        keep_device_variables(session);
        if (own != lacking.end())
            all[last.number].variables_end = session.device_variables.size();
        for (const auto &[number, earlier] : lacking) {
            const auto at = all.find(number);
            if (at != all.end())
                at->second.lacks = earlier.lacks;
            if (at != all.end() && earlier.lacks.empty())
                all.erase(at);
        }
    }

    /* The input's device code has these. */
    void note_statics(ompjit__reader *r, unsigned number)
    {
        for (size_t n = ompjit__read_count(r); n; n--)
            session.device_statics.emplace(read_string(r), number);
    }

    /* ---------------------------------------------------------- replay */

    using Kept = std::pair<Input, std::map<unsigned, Earlier>>;

    Kept read_replay(const std::string &bytes)
    {
        ompjit__reader r = {bytes.data(), bytes.size(), false};
        Kept kept;
        kept.first = read_input_request(&r);
        kept.second = read_lacking(&r);
        note_statics(&r, kept.first.number);
        return kept;
    }

    /* As many as are there, of which one process finds out whether they are good.
     * Else each has one of its own. `head` and `bytes`: the request, and then the
     * next one, which is no such request. False: there is none. */
    bool replay(ompjit__repl_head &head, std::string &bytes)
    {
        std::vector<Kept> all;
        bool more;
        do {
            all.push_back(read_replay(bytes));
            more = has_request(0) && read_request(head, bytes);
        } while (more && head.kind == OMPJIT__REPL_REPLAY);
        const bool all_good = are_good(all);
        for (const Kept &each : all) {
            good = all_good || (all.size() > 1 && are_good({each}));
            last = each.first;
            keep(each.second);
        }
        return more;
    }

    bool are_good(const std::vector<Kept> &all)
    {
        return in_child([&] {
            for (const Kept &each : all) {
                Result result;
                last = each.first;
                session.report.on_end = [&] { give_up(all.size() == 1); };
                read(result);
                if (session.report.bad)
                    give_up(all.size() == 1);
                take(result, each.second);
            }
        });
    }

    /* The tool is told of what the device half cannot have. */
    [[noreturn]] void give_up(bool tells)
    {
        if (tells && session.device)
            write_text(OMPJIT__REPL_UNFIT, session.report.text);
        _exit(NOT_GOOD);
    }
};

} // namespace

void ompjit_repl::serve(Session &session)
{
    signal(SIGPIPE, SIG_IGN);
    Server(session).run();
    _exit(0);
}
