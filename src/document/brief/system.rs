//! Words of systems and tool chains that stand in sentences without any mark: addresses, options, signals, errors.

/// Signals by their names: POSIX.1-2017, signal.h. A list, as SIGGRAPH is a conference.
const SIGNALS: &[&str] = &[
    "ABRT", "ALRM", "BUS", "CHLD", "CONT", "FPE", "HUP", "ILL", "INT", "IO", "KILL", "PIPE", "POLL", "PROF",
    "PWR", "QUIT", "SEGV", "STKFLT", "STOP", "SYS", "TERM", "TRAP", "TSTP", "TTIN", "TTOU", "URG", "USR1",
    "USR2", "VTALRM", "WINCH", "XCPU", "XFSZ",
];

/// Error numbers by their names: POSIX.1-2017, errno.h. A list, as EMAIL is a word.
const ERRNOS: &[&str] = &[
    "EACCES",
    "EADDRINUSE",
    "EADDRNOTAVAIL",
    "EAFNOSUPPORT",
    "EAGAIN",
    "EALREADY",
    "EBADF",
    "EBADMSG",
    "EBUSY",
    "ECANCELED",
    "ECHILD",
    "ECONNABORTED",
    "ECONNREFUSED",
    "ECONNRESET",
    "EDEADLK",
    "EDESTADDRREQ",
    "EDOM",
    "EDQUOT",
    "EEXIST",
    "EFAULT",
    "EFBIG",
    "EHOSTUNREACH",
    "EIDRM",
    "EILSEQ",
    "EINPROGRESS",
    "EINTR",
    "EINVAL",
    "EIO",
    "EISCONN",
    "EISDIR",
    "ELOOP",
    "EMFILE",
    "EMLINK",
    "EMSGSIZE",
    "ENAMETOOLONG",
    "ENETDOWN",
    "ENETRESET",
    "ENETUNREACH",
    "ENFILE",
    "ENOBUFS",
    "ENODATA",
    "ENODEV",
    "ENOENT",
    "ENOEXEC",
    "ENOLCK",
    "ENOMEM",
    "ENOSPC",
    "ENOSYS",
    "ENOTCONN",
    "ENOTDIR",
    "ENOTEMPTY",
    "ENOTSOCK",
    "ENOTSUP",
    "ENOTTY",
    "ENXIO",
    "EOPNOTSUPP",
    "EOVERFLOW",
    "EPERM",
    "EPIPE",
    "EPROTO",
    "ERANGE",
    "EROFS",
    "ESHUTDOWN",
    "ESPIPE",
    "ESRCH",
    "ESTALE",
    "ETIMEDOUT",
    "ETXTBSY",
    "EWOULDBLOCK",
    "EXDEV",
];

/// Files that have no ending.
const FILES: &[&str] = &[
    "makefile",
    "gnumakefile",
    "cmakelists",
    "dockerfile",
    "jenkinsfile",
    "rakefile",
    "gemfile",
    "vagrantfile",
];

/// Beginnings of functions of libraries, and how their names go on; `cuBLAS` and `cuGraph` are products.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("cuda", &[""]),
    ("nccl", &[""]),
    ("rccl", &[""]),
    ("cublas", &[""]),
    ("cudnn", &[""]),
    ("cusparse", &[""]),
    ("cu", DRIVER),
    ("hip", DRIVER),
];
const DRIVER: &[&str] = &[
    "Array",
    "Ctx",
    "Device",
    "Event",
    "Free",
    "Func",
    "Get",
    "Graph",
    "Host",
    "Init",
    "Ipc",
    "Launch",
    "Link",
    "Malloc",
    "Mem",
    "Module",
    "Occupancy",
    "Peek",
    "Pointer",
    "Set",
    "Stream",
    "Tex",
];

/// Whether a word is one of a system's own.
pub(super) fn is_term(word: &str) -> bool {
    if !word.is_ascii() {
        return false;
    }
    let hexadecimal = ["0x", "0X"]
        .iter()
        .find_map(|p| word.strip_prefix(p))
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_hexdigit() || b == b'_'));
    let option = word.strip_prefix('-').is_some_and(|rest| {
        rest.starts_with(|c: char| c.is_ascii_alphabetic()) || rest.starts_with('-') && rest.len() > 1
    });
    let signal = word.strip_prefix("SIG").is_some_and(|rest| SIGNALS.contains(&rest));
    let head = word == "HEAD" || word.starts_with("HEAD~") || word.starts_with("HEAD^");
    hexadecimal
        || option
        || signal
        || head
        || ERRNOS.contains(&word)
        || FILES.contains(&word.to_ascii_lowercase().as_str())
        || is_fault(word)
        || is_call(word)
}

/// `NullPointerException`, `HTTPServerError`: one word that ends so and begins otherwise.
fn is_fault(word: &str) -> bool {
    ["Error", "Exception"].iter().filter_map(|end| word.strip_suffix(end)).any(|rest| {
        rest.starts_with(|c: char| c.is_ascii_alphabetic()) && rest.bytes().all(|b| b.is_ascii_alphanumeric())
    })
}

/// `cudaMalloc`, `ncclSend`, `cuMemAlloc`: a library's short name, then a word with a capital.
fn is_call(word: &str) -> bool {
    LIBRARIES.iter().any(|(library, words)| {
        word.strip_prefix(library).is_some_and(|rest| {
            let mut letters = rest.chars();
            letters.next().is_some_and(|c| c.is_ascii_uppercase())
                && letters.next().is_some_and(|c| c.is_ascii_lowercase())
                && (*library != "cu" && *library != "hip" || rest != "Graph")
                && words.iter().any(|w| rest.starts_with(w))
        })
    })
}
