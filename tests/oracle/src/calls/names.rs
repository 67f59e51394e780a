//! Names of system calls; those that do the same under other numbers have one name.

/// Gives a name for each number that this processor's kernel has.
macro_rules! names {
    ($number:expr, $($(#[$here:meta])? $constant:ident $name:literal),+ $(,)?) => {
        $($(#[$here])? { if $number == libc::$constant { return $name.into(); } })+
    };
}

/// The name of a call; its number where it has none here.
#[must_use]
pub fn name(number: i64) -> String {
    names!(
        number,
        SYS_read "read", SYS_write "write", SYS_readv "read", SYS_writev "write",
        SYS_pread64 "pread", SYS_pwrite64 "pwrite", SYS_close "close", SYS_lseek "lseek",
        SYS_fcntl "fcntl", SYS_flock "flock", SYS_fsync "fsync", SYS_fdatasync "fsync",
        SYS_ftruncate "ftruncate", SYS_ioctl "ioctl", SYS_dup "dup", SYS_dup3 "dup",
        SYS_openat "open", SYS_faccessat "access", SYS_faccessat2 "access",
        SYS_newfstatat "stat", SYS_statx "stat", SYS_fstat "stat",
        SYS_unlinkat "unlink", SYS_linkat "link", SYS_renameat "rename", SYS_renameat2 "rename",
        SYS_mkdirat "mkdir", SYS_readlinkat "readlink", SYS_getdents64 "getdents",
        SYS_fchmod "fchmod", SYS_fchmodat "chmod", SYS_fchown "fchown", SYS_fchownat "chown",
        SYS_brk "brk", SYS_mmap "mmap", SYS_munmap "munmap", SYS_mremap "mremap",
        SYS_mprotect "mprotect", SYS_madvise "madvise", SYS_futex "futex",
        SYS_nanosleep "nanosleep", SYS_clock_nanosleep "nanosleep",
        SYS_clock_gettime "clock_gettime", SYS_gettimeofday "clock_gettime",
        SYS_ppoll "poll", SYS_pselect6 "select", SYS_epoll_pwait "epoll_wait",
        SYS_pidfd_open "pidfd_open", SYS_kill "kill", SYS_tgkill "kill",
        SYS_clone "clone", SYS_clone3 "clone", SYS_execve "execve", SYS_wait4 "wait",
        SYS_waitid "wait", SYS_exit "exit", SYS_exit_group "exit",
        SYS_socket "socket", SYS_connect "connect", SYS_accept "accept", SYS_accept4 "accept",
        SYS_bind "bind", SYS_listen "listen", SYS_sendto "send", SYS_sendmsg "send",
        SYS_recvfrom "receive", SYS_recvmsg "receive", SYS_getsockopt "getsockopt",
        SYS_setsockopt "setsockopt", SYS_getpeername "getpeername",
        SYS_getsockname "getsockname", SYS_shutdown "shutdown", SYS_socketpair "socketpair",
        SYS_pipe2 "pipe", SYS_getpid "getpid", SYS_gettid "gettid", SYS_getuid "getuid",
        SYS_geteuid "getuid", SYS_getpriority "getpriority", SYS_uname "uname",
        SYS_sched_getaffinity "sched_getaffinity", SYS_sched_setaffinity "sched_setaffinity",
        SYS_sched_yield "sched_yield", SYS_getrandom "getrandom",
        SYS_rt_sigaction "sigaction", SYS_rt_sigprocmask "sigprocmask",
        SYS_sigaltstack "sigaltstack", SYS_set_robust_list "set_robust_list",
        SYS_rseq "rseq", SYS_prctl "prctl", SYS_sysinfo "sysinfo", SYS_umask "umask",
        SYS_restart_syscall "restart_syscall", SYS_prlimit64 "prlimit", SYS_fadvise64 "fadvise",
        SYS_process_vm_readv "process_vm_readv", SYS_chdir "chdir",
    );
    #[cfg(target_arch = "x86_64")]
    names!(
        number,
        SYS_open "open", SYS_creat "open", SYS_access "access", SYS_stat "stat",
        SYS_lstat "stat", SYS_poll "poll", SYS_select "select", SYS_pipe "pipe",
        SYS_fork "clone", SYS_vfork "clone", SYS_unlink "unlink", SYS_link "link", SYS_rename "rename",
        SYS_mkdir "mkdir", SYS_rmdir "unlink", SYS_readlink "readlink", SYS_dup2 "dup",
        SYS_chmod "chmod", SYS_chown "chown", SYS_time "clock_gettime", SYS_alarm "alarm",
        SYS_epoll_wait "epoll_wait", SYS_getdents "getdents", SYS_arch_prctl "arch_prctl",
    );
    format!("call {number}")
}
