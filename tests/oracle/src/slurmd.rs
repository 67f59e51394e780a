//! Fresh records of a request, as slurmd hands them to the hook, and what the hook left in them.

use std::ffi::c_char;
use std::ptr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use slurm_sys::{Layout, Symbols};

use crate::answer::Answer;
use crate::arena::Arena;
use crate::blocks::{bytes, entries};
use crate::case::Case;
use crate::host;
use crate::message::Message;
use crate::object::{self, GetCpuset};
use crate::options::Options;
use crate::record::Record;

/// The Slurm that runs: its tables and functions.
#[derive(Clone, Copy)]
pub struct Slurm {
    /// Where the records keep their fields.
    pub layout: &'static Layout,
    /// Its functions.
    pub symbols: &'static Symbols,
}

/// How the call of a launch hook ended.
#[derive(Debug)]
pub struct Called {
    /// Returned.
    pub rc: i32,
    /// For the user.
    pub err_msg: Option<String>,
    /// As long as it took.
    pub time: Duration,
}

/// The records of one launch; they point into each other and into `arena`.
pub struct Launch {
    pub(crate) slurm: Slurm,
    pub(crate) node_id: u32,
    pub(crate) request: Record,
    pub(crate) cred: Record,
    conf: Record,
    pub(crate) arena: Arena,
    options: Options,
}

impl Launch {
    /// Fills the records, and puts `conf` and `slurm_conf` in force.
    ///
    /// # Panics
    /// Where Slurm's library has no `slurm_xcalloc` or `slurm_conf`.
    #[must_use]
    pub fn new(message: &Message, slurm: Slurm) -> Self {
        let mut launch = Self {
            slurm,
            node_id: message.node_id,
            request: Record::default(),
            cred: Record::default(),
            conf: Record::default(),
            arena: Arena::default(),
            options: Options::new(&message.options),
        };
        launch.fill_conf(&message.case);
        launch.fill_cred(&message.case);
        launch.fill_numbers(message);
        launch.fill_tasks(message);
        launch.fill_texts(message);
        fill_slurm_conf(&message.case, slurm);
        launch
    }

    fn fill_conf(&mut self, case: &Case) {
        let (fields, machine) = (&self.slurm.layout.slurmd_conf, &case.machine);
        let size = machine.map.len();
        for (field, value) in [
            (fields.cpus, machine.cpus),
            (fields.boards, 1),
            (fields.sockets, machine.sockets),
            (fields.cores, machine.cores),
            (fields.threads, machine.threads),
            (fields.actual_cpus, size as u16),
            (fields.actual_sockets, machine.sockets),
            (fields.actual_cores, machine.cores),
            (fields.actual_threads, machine.threads),
            (fields.block_map_size, size as u16),
        ] {
            self.conf.put(field, value);
        }
        let mut inverse = vec![0u16; size];
        for (at, cpu) in (0u16..).zip(&machine.map) {
            inverse[usize::from(*cpu)] = at;
        }
        let (conf, arena) = (&mut self.conf, &mut self.arena);
        let host = slurm_sys::Identity::current().host;
        conf.put(fields.block_map, arena.list(machine.map.clone()));
        conf.put(fields.block_map_inv, arena.list(inverse));
        conf.put(fields.node_name, arena.text(&case.node_name()));
        conf.put(fields.hostname, arena.text(&host));
    }

    fn fill_cred(&mut self, case: &Case) {
        let (fields, cred) = (&self.slurm.layout.cred, &case.cred);
        let (record, arena) = (&mut self.cred, &mut self.arena);
        let groups = &cred.groups;
        let sockets = groups.iter().map(|group| group.sockets).collect();
        let cores = groups.iter().map(|group| group.cores).collect();
        let nodes = groups.iter().map(|group| group.nodes).collect();
        let job = vec![true; cred.step_cores.len()];
        record.put(fields.core_array_size, groups.len() as u16);
        record.put(fields.sockets_per_node, arena.list(sockets));
        record.put(fields.cores_per_socket, arena.list(cores));
        record.put(fields.sock_core_rep_count, arena.list(nodes));
        record.put(fields.step_core_bitmap, arena.bits(&cred.step_cores));
        record.put(fields.job_core_bitmap, arena.bits(&job));
        record.put(fields.job_hostlist, arena.text(&cred.hosts));
        record.put(fields.job_nhosts, cred.host_count);
        record.put(fields.job_core_spec, case.job_core_spec);
    }

    fn fill_numbers(&mut self, message: &Message) {
        let (fields, case) = (&self.slurm.layout.launch, &message.case);
        let record = &mut self.request;
        record.put(fields.cpus_per_task, case.cpus_per_task);
        record.put(fields.threads_per_core, case.threads_per_core);
        record.put(fields.ntasks_per_core, case.ntasks_per_core);
        record.put(fields.ntasks_per_socket, case.ntasks_per_socket);
        record.put(fields.task_dist, case.task_dist);
        record.put(fields.job_core_spec, case.job_core_spec);
        record.put(fields.cpu_bind_type, case.cpu_bind_type);
        record.put(fields.flags, message.flags);
        record.put(fields.node_cpus, message.node_cpus);
        record.put(fields.accel_bind_type, message.accel_bind_type);
        record.put(fields.mem_bind_type, message.mem_bind_type);
        record.put(fields.cred, self.cred.base());
        record.put(fields.options, self.options.list());
        record.put_step_id(self.slurm, fields.step_id.offset(), message.step);
    }

    /// An empty list is a null pointer, as slurmd unpacks it.
    fn fill_tasks(&mut self, message: &Message) {
        let (fields, arena) = (&self.slurm.layout.launch, &mut self.arena);
        let count = |list: &Vec<u32>| list.len() as u16;
        let counts = arena.list(message.ids.iter().map(count).collect());
        let list = |list: &Vec<u32>| match list.len() {
            0 => ptr::null_mut(),
            _ => arena.list(list.clone()),
        };
        let lists = message.ids.iter().map(list).collect();
        let lists = arena.list(lists);
        let record = &mut self.request;
        record.put(fields.nnodes, message.ids.len() as u32);
        record.put(fields.ntasks, message.tasks);
        record.put(fields.tasks_to_launch, counts);
        record.put(fields.global_task_ids, lists);
    }

    fn fill_texts(&mut self, message: &Message) {
        let (slurm, fields) = (self.slurm, &self.slurm.layout.launch);
        for (field, text) in [
            (fields.cpu_bind, &message.cpu_bind),
            (fields.mem_bind, &message.mem_bind),
            (fields.complete_nodelist, &message.nodes),
            (fields.tres_bind, &message.tres_bind),
        ] {
            if let Some(text) = text {
                self.request.put(field, slurm.text(&text.0));
            }
        }
        self.request
            .put_env(slurm, (fields.env, fields.envc), &message.env);
    }

    /// A launch hook's answer.
    ///
    /// # Safety
    /// The hook is one of an object of the running release.
    pub unsafe fn answer(&mut self, hook: object::Launch) -> Answer {
        // SAFETY: the caller's promise.
        let Called { rc, err_msg, .. } = unsafe { self.call(hook) };
        let fields = &self.slurm.layout.launch;
        Answer {
            rc,
            cpu_bind_type: self.request.get(fields.cpu_bind_type),
            cpu_bind: text(self.request.get(fields.cpu_bind)),
            cpus_per_task: self.request.get(fields.cpus_per_task),
            err_msg,
            note: self.note(),
            resolved: Vec::new(),
            locked: host::LOCKED.swap(0, Ordering::Relaxed),
        }
    }

    /// The tasks' CPUs as slurmstepd reads them from an answer that a hook has left in these records.
    ///
    /// # Safety
    /// The look-up is one of an object of the running release.
    pub unsafe fn resolve(&mut self, case: &Case, look_up: GetCpuset) -> Vec<Option<Vec<usize>>> {
        let (fields, launch) = (&self.slurm.layout.step, &self.slurm.layout.launch);
        let mut step = Record::default();
        step.put(
            fields.cpu_bind_type,
            u32::from(self.request.get(launch.cpu_bind_type)),
        );
        step.put(fields.cpu_bind, self.request.get(launch.cpu_bind));
        step.put(fields.cpus, case.node_cpus());
        host::conf.store(self.conf.base(), Ordering::Relaxed);
        let cpus_of = |task| {
            // SAFETY: a CPU set is a bit string.
            let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
            // SAFETY: the caller's promise; the record has all fields that are read.
            let bound = unsafe { look_up(&mut set, step.base(), task) } != 0;
            // SAFETY: every number lies inside the set.
            let has = |cpu: &usize| unsafe { libc::CPU_ISSET(*cpu, &set) };
            bound.then(|| (0..libc::CPU_SETSIZE as usize).filter(has).collect())
        };
        (0..u32::from(case.tasks())).map(cpus_of).collect()
    }

    /// The note among slurmd's words to slurmstepd, which are JSON.
    fn note(&mut self) -> Option<String> {
        let env = self.request.get(self.slurm.layout.launch.env);
        let mut texts = entries(env).map_while(text);
        let sealed =
            texts.find_map(|entry| Some(entry.strip_prefix("BERTH_HANDOVER=")?.to_owned()))?;
        let (_, marked) = sealed.split_once(' ')?;
        let (fields, _) = marked.rsplit_once(' ')?;
        match serde_json::from_str::<serde_json::Value>(fields) {
            Ok(handover) => Some(handover.get("note")?.as_str()?.to_owned()),
            Err(why) => Some(format!("its handover is no JSON: {why}")),
        }
    }

    /// Calls a launch hook once.
    ///
    /// # Safety
    /// As for [`Launch::answer`].
    pub unsafe fn call(&mut self, hook: object::Launch) -> Called {
        let mut err_msg: *mut c_char = ptr::null_mut();
        self.enter();
        let request = self.request.base();
        let start = Instant::now();
        // SAFETY: the caller's promise; the records are the running release's and complete.
        let rc = unsafe { hook(request, self.node_id, &mut err_msg) };
        let time = start.elapsed();
        let called = Called {
            rc,
            err_msg: text(err_msg),
            time,
        };
        self.slurm.free(err_msg.cast());
        called
    }

    /// Why the request is wrong after that.
    pub fn wrong(&mut self) -> Option<String> {
        let fields = &self.slurm.layout.launch;
        self.request.wrong((fields.env, fields.envc))
    }

    /// Makes this launch's `conf` slurmd's.
    pub fn enter(&mut self) {
        host::conf.store(self.conf.base(), Ordering::Relaxed);
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        host::conf.store(ptr::null_mut(), Ordering::Relaxed);
        let fields = &self.slurm.layout.launch;
        self.slurm.free_array(self.request.get(fields.env));
        for text in [
            fields.cpu_bind,
            fields.mem_bind,
            fields.complete_nodelist,
            fields.tres_bind,
        ] {
            self.slurm.free(self.request.get(text).cast());
        }
    }
}

fn text(at: *mut c_char) -> Option<String> {
    bytes(at).map(|text| String::from_utf8_lossy(text).into_owned())
}

fn fill_slurm_conf(case: &Case, slurm: Slurm) {
    let (fields, object) = (
        &slurm.layout.slurm_conf,
        slurm.symbols.slurm_conf.expect("slurm_conf").as_ptr(),
    );
    // SAFETY: the object of Slurm's library, at the offsets of the running release; this process
    // has one thread.
    unsafe {
        let bits = object.byte_add(fields.task_plugin_param.offset());
        ptr::write_unaligned(bits.cast(), case.task_plugin_param);
        let select = object.byte_add(fields.select_type_param.offset());
        ptr::write_unaligned(select.cast(), case.select_type_param);
    }
}
