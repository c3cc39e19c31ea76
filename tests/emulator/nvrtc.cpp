// NVRTC's interface over g++: CUDA source in, "PTX" out that names the shared object which the emulated driver loads.
//
// The source is preprocessed, its three CUDA words are rewritten, a table of its kernels is added, and g++ compiles
// the rest. Objects are kept beside this library, under a digest of all that went into them.

#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "machine.h"

#define API extern "C" __attribute__((visibility("default"))) int

extern char **environ;

namespace {

using std::string;

struct Program {
    string source, name, log, ptx;
    std::vector<std::pair<string, string>> headers;
};

string folder() {
    Dl_info info{};
    dladdr((void *)&folder, &info);
    string path = info.dli_fname;
    size_t slash = path.rfind('/');
    return slash == string::npos ? "." : path.substr(0, slash);
}

string read_file(const string &path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream all;
    all << in.rdbuf();
    return all.str();
}

bool write_file(const string &path, const string &text) {
    std::ofstream out(path, std::ios::binary);
    out << text;
    return out.good();
}

string digest(const string &text) {
    uint64_t a = 14695981039346656037ull, b = 1099511628211ull * 31;
    for (unsigned char c : text) {
        a = (a ^ c) * 1099511628211ull;
        b = (b + c) * 6364136223846793005ull + 1442695040888963407ull;
    }
    char hex[33];
    snprintf(hex, sizeof hex, "%016llx%016llx", (unsigned long long)a, (unsigned long long)b);
    return hex;
}

bool run(std::vector<string> words, const string &log) {
    std::vector<char *> arguments;
    for (string &word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawn_file_actions_adddup2(&files, 1, 2);
    pid_t child;
    int failed = posix_spawnp(&child, arguments[0], &files, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    int status = 1;
    if (failed != 0 || waitpid(child, &status, 0) != child) return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool word_at(const string &text, size_t at, const char *word) {
    size_t n = strlen(word);
    auto part = [](char c) { return isalnum((unsigned char)c) || c == '_'; };
    return text.compare(at, n, word) == 0 && (at == 0 || !part(text[at - 1])) &&
           (at + n >= text.size() || !part(text[at + n]));
}

size_t past_spaces(const string &text, size_t at) {
    while (at < text.size() && isspace((unsigned char)text[at])) at++;
    return at;
}

// From an opening parenthesis to behind the one that closes it.
size_t past_parentheses(const string &text, size_t at) {
    int depth = 0;
    for (; at < text.size(); at++) {
        if (text[at] == '(') depth++;
        if (text[at] == ')' && --depth == 0) return at + 1;
    }
    return at;
}

struct Kernel {
    string name, bounds;
};

// A kernel's name and bounds, from behind its `__global__`; nothing for templates and bare declarations.
bool kernel_at(const string &text, size_t global, size_t at, Kernel &kernel) {
    size_t before = text.find_last_of(";{}", global);
    string head = text.substr(before == string::npos ? 0 : before + 1, global - (before == string::npos ? 0 : before + 1));
    size_t template_at = head.find("template");
    if (template_at != string::npos && word_at(head, template_at, "template")) return false;
    string last;
    while (at < text.size()) {
        at = past_spaces(text, at);
        if (word_at(text, at, "__emu_bounds__")) {
            size_t open = text.find('(', at), close = past_parentheses(text, open);
            string inner = text.substr(open + 1, close - open - 2);
            int depth = 0;
            size_t comma = 0;
            for (; comma < inner.size() && !(inner[comma] == ',' && depth == 0); comma++)
                depth += inner[comma] == '(' ? 1 : inner[comma] == ')' ? -1 : 0;
            kernel.bounds = inner.substr(0, comma);
            at = close;
        } else if (word_at(text, at, "__attribute__")) {
            at = past_parentheses(text, text.find('(', at));
        } else if (text[at] == '(') {
            kernel.name = last;
            size_t after = past_spaces(text, past_parentheses(text, at));
            return !last.empty() && after < text.size() && text[after] == '{';
        } else if (isalpha((unsigned char)text[at]) || text[at] == '_') {
            size_t from = at;
            while (at < text.size() && (isalnum((unsigned char)text[at]) || text[at] == '_')) at++;
            last = text.substr(from, at - from);
        } else {
            return false;
        }
    }
    return false;
}

// `extern __shared__ T name[];` is the launch's dynamic memory: a pointer that the driver sets.
size_t dynamic_at(const string &text, size_t at, string &out) {
    size_t semicolon = text.find(';', at);
    if (semicolon == string::npos) return at;
    string rest = text.substr(at, semicolon - at);
    size_t attribute;
    while ((attribute = rest.find("__attribute__")) != string::npos)
        rest.erase(attribute, past_parentheses(rest, rest.find('(', attribute)) - attribute);
    size_t bracket = rest.rfind('[');
    if (bracket == string::npos) return at;
    size_t end = bracket;
    while (end > 0 && isspace((unsigned char)rest[end - 1])) end--;
    size_t from = end;
    while (from > 0 && (isalnum((unsigned char)rest[from - 1]) || rest[from - 1] == '_')) from--;
    string type = rest.substr(0, from), name = rest.substr(from, end - from);
    out += "static " + type + "*& " + name + " = reinterpret_cast<" + type + "*&>(emu_dynamic_shared)";
    return semicolon;
}

string rewrite(const string &text, std::vector<Kernel> &kernels) {
    string out;
    std::set<string> known;
    size_t at = 0;
    while (at < text.size()) {
        char c = text[at];
        if (c == '"' || c == '\'') {
            // A quote may also stand in a number; then it is between digits.
            if (c == '\'' && at > 0 && isalnum((unsigned char)text[at - 1])) {
                out += text[at++];
                continue;
            }
            size_t end = at + 1;
            while (end < text.size() && text[end] != c && text[end] != '\n') end += text[end] == '\\' ? 2 : 1;
            out += text.substr(at, end + 1 - at);
            at = end + 1;
        } else if (c != '_' && c != 'e') {
            out += text[at++];
        } else if (word_at(text, at, "__emu_global__")) {
            Kernel kernel;
            if (kernel_at(text, at, at + 14, kernel) && known.insert(kernel.name).second) kernels.push_back(kernel);
            out += "__attribute__((visibility(\"default\"), noinline))";
            at += 14;
        } else if (word_at(text, at, "__emu_bounds__")) {
            at = past_parentheses(text, text.find('(', at));
        } else if (word_at(text, at, "extern") && word_at(text, past_spaces(text, at + 6), "__emu_shared__")) {
            at = dynamic_at(text, past_spaces(text, at + 6) + 14, out);
        } else if (word_at(text, at, "__emu_shared__")) {
            out += "static thread_local";
            at += 14;
        } else {
            out += text[at++];
        }
    }
    return out;
}

const char *TABLE = R"(
# 1 "kernel-table"
extern "C" { EmuApi *emu_api; unsigned char *emu_dynamic_shared; }
template <size_t... EmuI> struct EmuIndices {};
template <class EmuT> struct EmuBare { using type = EmuT; };
template <class EmuT> struct EmuBare<EmuT &> { using type = EmuT; };
template <auto EmuF> struct EmuCall;
template <class... EmuA, void (*EmuF)(EmuA...)> struct EmuCall<EmuF> {
    static constexpr size_t sizes[] = {sizeof(EmuA)..., 0};
    static constexpr int count = sizeof...(EmuA);
    template <size_t... EmuI> static void go(void **all, EmuIndices<EmuI...>) {
        EmuF(*(typename EmuBare<EmuA>::type *)all[EmuI]...);
    }
    static void call(void **all) { go(all, EmuIndices<__integer_pack(sizeof...(EmuA))...>{}); }
};
static thread_local volatile char emu_touched;
static void emu_touch() { emu_touched = 1; }
)";

string table(const std::vector<Kernel> &kernels) {
    string text = TABLE;
    text += "static const EmuKernel emu_kernels[] = {\n";
    for (const Kernel &k : kernels)
        text += "{(void *)&" + k.name + ", EmuCall<&" + k.name + ">::call, EmuCall<&" + k.name + ">::count, EmuCall<&" +
                k.name + ">::sizes, (int)(" + (k.bounds.empty() ? "0" : k.bounds) + ")},\n";
    text += "{}};\nstatic const EmuModule emu_table = {" + std::to_string(EMU_VERSION) + ", &emu_api, &emu_dynamic_shared, emu_kernels, " +
            std::to_string(kernels.size()) +
            ", emu_touch};\nextern \"C\" __attribute__((visibility(\"default\"))) const EmuModule *emu_module() { return "
            "&emu_table; }\n";
    return text;
}

// As NVRTC words them: `name.cu(3): error: …`.
string as_nvrtc(const string &log, const string &scratch) {
    std::stringstream in(log);
    string line, out;
    while (std::getline(in, line)) {
        size_t at;
        while ((at = line.find(scratch + "/")) != string::npos) line.erase(at, scratch.size() + 1);
        size_t error = line.find(": error: "), fatal = line.find(": fatal error: ");
        size_t end = error != string::npos ? error : fatal;
        if (end != string::npos) {
            size_t column = line.rfind(':', end - 1);
            size_t row = column == string::npos ? column : line.rfind(':', column - 1);
            if (row != string::npos)
                line = line.substr(0, row) + "(" + line.substr(row + 1, column - row - 1) + ")" + line.substr(end);
        }
        out += line + "\n";
    }
    return out;
}

const char *IGNORED[] = {"--gpu-architecture=", "-arch=", "--fmad=", "-fmad=", "--ftz=", "-ftz=", "--prec-div=",
                         "-prec-div=", "--prec-sqrt=", "-prec-sqrt=", "--use_fast_math", "-use_fast_math",
                         "--maxrregcount=", "-maxrregcount=", "--generate-line-info", "-lineinfo", "--device-debug",
                         "-G", "--restrict", "-restrict", "--extra-device-vectorization", "--disable-warnings", "-w",
                         "-default-device", "--device-as-default-execution-space", "--dopt="};

bool options_for(const std::vector<string> &asked, std::vector<string> &words, string &log) {
    for (size_t i = 0; i < asked.size(); i++) {
        const string &o = asked[i];
        auto starts = [&](const char *with) { return o.compare(0, strlen(with), with) == 0; };
        bool ignored = false;
        for (const char *known : IGNORED) ignored |= starts(known);
        if (ignored) continue;
        if (o == "-D" || o == "-I" || o == "-U") {
            if (i + 1 == asked.size()) return false;
            words.push_back(o + asked[++i]);
        } else if (starts("-D") || starts("-I") || starts("-U")) {
            words.push_back(o);
        } else if (starts("--define-macro=")) {
            words.push_back("-D" + o.substr(15));
        } else if (starts("--undefine-macro=")) {
            words.push_back("-U" + o.substr(17));
        } else if (starts("--include-path=")) {
            words.push_back("-I" + o.substr(15));
        } else if (starts("--std=") || starts("-std=")) {
            words.push_back("-std=" + o.substr(o.find('=') + 1));
        } else {
            log = "nvrtc: error: invalid value for option: " + o + "\n";
            return false;
        }
    }
    return true;
}

// 0, or an nvrtcResult: 5 for a wrong option, 6 for source that does not compile.
int compile(Program &program, const std::vector<string> &asked, string &object, std::vector<Kernel> &kernels) {
    string home = folder();
    std::vector<string> options = {"-std=c++17"};
    if (!options_for(asked, options, program.log)) return 5;
    const char *temporary = getenv("TMPDIR");
    string scratch = string(temporary == nullptr ? "/tmp" : temporary) + "/emulated-nvrtc-XXXXXX";
    if (mkdtemp(scratch.data()) == nullptr) return 11;
    std::vector<string> made;
    auto put = [&](const string &name, const string &text) {
        string base = name.substr(name.rfind('/') == string::npos ? 0 : name.rfind('/') + 1);
        made.push_back(scratch + "/" + base);
        write_file(made.back(), text);
        return made.back();
    };
    string source = put(program.name.empty() ? "default_program" : program.name, program.source);
    for (auto &header : program.headers) put(header.first, header.second);
    string log = put("log", ""), expanded = put("expanded.ii", ""), written = put("written.ii", "");

    std::vector<string> words = {"g++", "-E", "-x", "c++"};
    words.insert(words.end(), options.begin(), options.end());
    for (const string &word : {"-I" + scratch, "-I" + home + "/include", string("-include"),
                               home + "/include/cuda_prelude.h", source, string("-o"), expanded})
        words.push_back(word);
    bool good = run(words, log);
    string cache;
    if (good) {
        string text = rewrite(read_file(expanded), kernels);
        text += table(kernels);
        cache = home + "/cache";
        mkdir(cache.c_str(), 0700);
        string plain = text;
        for (size_t at; (at = plain.find(scratch)) != string::npos;) plain.erase(at, scratch.size());
        object = cache + "/" + digest(plain + options[options.size() - 1]) + ".so";
        if (access(object.c_str(), R_OK) != 0) {
            write_file(written, text);
            string fresh = object + "." + std::to_string(getpid()) + "." + scratch.substr(scratch.size() - 6);
            good = run({"g++", "-fpreprocessed", options.back().compare(0, 5, "-std=") == 0 ? options.back() : options[0],
                        "-O1", "-w", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-strict-aliasing", "-fwrapv",
                        "-ffp-contract=off", "-ftrivial-auto-var-init=pattern", "-fno-exceptions",
                        "-fno-threadsafe-statics", "-fmax-errors=20", "-Wl,-Bsymbolic", written, "-o", fresh}, log);
            if (good) rename(fresh.c_str(), object.c_str());
        }
    }
    program.log = as_nvrtc(read_file(log), scratch);
    for (const string &path : made) unlink(path.c_str());
    rmdir(scratch.c_str());
    return good ? 0 : 6;
}

}  // namespace

API nvrtcVersion(int *major, int *minor) { return *major = 13, *minor = 0, 0; }
API nvrtcGetNumSupportedArchs(int *count) { return *count = 1, 0; }
API nvrtcGetSupportedArchs(int *archs) { return archs[0] = 90, 0; }
API nvrtcCreateProgram(Program **program, const char *source, const char *name, int headers, const char *const *texts,
                       const char *const *names) {
    *program = new Program;
    (*program)->source = source;
    (*program)->name = name == nullptr ? "" : name;
    for (int i = 0; i < headers; i++) (*program)->headers.emplace_back(names[i], texts[i]);
    return 0;
}
API nvrtcDestroyProgram(Program **program) {
    delete *program;
    *program = nullptr;
    return 0;
}
API nvrtcCompileProgram(Program *program, int count, const char *const *options) {
    std::vector<string> asked(options, options + count);
    string object;
    std::vector<Kernel> kernels;
    int result = compile(*program, asked, object, kernels);
    if (result != 0) return result;
    program->ptx = "// git-incident emulated module: " + object + "\n.version 8.0\n.target sm_75\n.address_size 64\n";
    for (const Kernel &kernel : kernels) program->ptx += ".visible .entry " + kernel.name + "()\n{\n\tret;\n}\n";
    return 0;
}
API nvrtcGetPTXSize(Program *program, size_t *bytes) {
    if (program->ptx.empty()) return 4;
    return *bytes = program->ptx.size() + 1, 0;
}
API nvrtcGetPTX(Program *program, char *text) { return memcpy(text, program->ptx.c_str(), program->ptx.size() + 1), 0; }
API nvrtcGetCUBINSize(Program *program, size_t *bytes) { return nvrtcGetPTXSize(program, bytes); }
API nvrtcGetCUBIN(Program *program, char *bytes) { return nvrtcGetPTX(program, bytes); }
API nvrtcGetProgramLogSize(Program *program, size_t *bytes) { return *bytes = program->log.size() + 1, 0; }
API nvrtcGetProgramLog(Program *program, char *text) {
    return memcpy(text, program->log.c_str(), program->log.size() + 1), 0;
}
extern "C" __attribute__((visibility("default"))) const char *nvrtcGetErrorString(int code) {
    switch (code) {
        case 0: return "NVRTC_SUCCESS";
        case 5: return "NVRTC_ERROR_INVALID_OPTION";
        case 6: return "NVRTC_ERROR_COMPILATION";
        default: return "NVRTC_ERROR_INTERNAL_ERROR";
    }
}

// For the driver: our own kernels' PTX stands for the source it was made from.
API emu_compile_file(const char *path, char *object, size_t bytes) {
    Program program;
    program.source = read_file(path);
    if (program.source.empty()) return 1;
    program.name = path;
    std::vector<Kernel> kernels;
    string made, home = path;
    int result = compile(program, {"-I" + home.substr(0, home.rfind('/'))}, made, kernels);
    if (result != 0) fprintf(stderr, "%s", program.log.c_str());
    if (result != 0 || made.size() >= bytes) return 1;
    return memcpy(object, made.c_str(), made.size() + 1), 0;
}
