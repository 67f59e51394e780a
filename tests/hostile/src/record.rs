//! The request while it is forged: fields written through the tables of slurm-sys, and written
//! back when the value is dropped.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

use slurm_sys::layout::Field;
use slurm_sys::{Layout, Symbols};

use crate::changes::number;

/// What stood at an address.
type Before = (*mut u8, Vec<u8>);

/// A request with changes in it.
pub struct Forged {
    request: *mut c_void,
    layout: &'static Layout,
    symbols: &'static Symbols,
    before: Vec<Before>,
    variables: Vec<*mut c_char>,
}

impl Forged {
    /// # Safety
    /// `request` is a launch request of `layout`'s release and outlives the value.
    pub unsafe fn new(
        request: *mut c_void,
        layout: &'static Layout,
        symbols: &'static Symbols,
    ) -> Self {
        Self {
            request,
            layout,
            symbols,
            before: Vec::new(),
            variables: Vec::new(),
        }
    }

    /// Makes one change; variables are kept for `send_variables`.
    ///
    /// # Panics
    /// Where the name is none, or the value does not fit the field.
    pub fn change(&mut self, name: &str, value: &[u8]) {
        let fields = &self.layout.launch;
        if let Some(option) = name.strip_prefix("option ") {
            return self.option(option, value);
        }
        match name {
            "cpu_bind_type" => self.short(fields.cpu_bind_type, value),
            "mem_bind_type" => self.short(fields.mem_bind_type, value),
            "cpus_per_task" => self.short(fields.cpus_per_task, value),
            "threads_per_core" => self.short(fields.threads_per_core, value),
            "ntasks_per_core" => self.short(fields.ntasks_per_core, value),
            "ntasks_per_socket" => self.short(fields.ntasks_per_socket, value),
            "job_core_spec" => self.short(fields.job_core_spec, value),
            "node_cpus" => self.short(fields.node_cpus, value),
            "accel_bind_type" => self.short(fields.accel_bind_type, value),
            "task_dist" => self.long(fields.task_dist, value),
            "flags" => self.long(fields.flags, value),
            "ntasks" => self.long(fields.ntasks, value),
            "cpu_bind" => self.text(fields.cpu_bind, value),
            "mem_bind" => self.text(fields.mem_bind, value),
            "tres_bind" => self.text(fields.tres_bind, value),
            "complete_nodelist" => self.text(fields.complete_nodelist, value),
            "env" => self.variables.push(kept(value)),
            "tasks_to_launch" => self.tasks(value),
            "job_id" => self.step_id(self.layout.step_id.job_id, value),
            "step_id" => self.step_id(self.layout.step_id.step_id, value),
            _ => panic!("BERTH_HOSTILE: no field {name} is known"),
        }
    }

    fn short(&mut self, field: Field<u16>, value: &[u8]) {
        let value = number(value).and_then(|value| u16::try_from(value).ok());
        self.put(field, value.expect("a number of 16 bits"));
    }

    fn long(&mut self, field: Field<u32>, value: &[u8]) {
        self.put(field, number(value).expect("a number of 32 bits"));
    }

    fn step_id(&mut self, field: Field<u32>, value: &[u8]) {
        let offset = self.layout.launch.step_id.offset() + field.offset();
        let value = number(value).expect("a number of 32 bits");
        self.write(self.request.wrapping_byte_add(offset), value);
    }

    fn text(&mut self, field: Field<*mut c_char>, value: &[u8]) {
        self.put(field, kept(value));
    }

    /// Puts the variables behind srun's own, also second ones of a name.
    pub fn send_variables(&mut self) {
        let fields = &self.layout.launch;
        let (old, count) = (self.get(fields.env), self.get(fields.envc));
        // SAFETY: srun counted the entries itself (slurm_step_launch, src/api/step_launch.c).
        let mut entries = unsafe { std::slice::from_raw_parts(old, count as usize) }.to_vec();
        entries.append(&mut self.variables);
        let length = u32::try_from(entries.len()).expect("no more entries than that");
        entries.push(ptr::null_mut());
        self.put(fields.env, entries.leak().as_mut_ptr());
        self.put(fields.envc, length);
    }

    /// The number of tasks on every node of the step, with numbers in the step for each.
    fn tasks(&mut self, value: &[u8]) {
        let value = number(value).and_then(|value| u16::try_from(value).ok());
        let value = value.expect("a number of 16 bits");
        let fields = &self.layout.launch;
        let (counts, nodes) = (self.get(fields.tasks_to_launch), self.get(fields.nnodes));
        for node in 0..nodes as usize {
            self.write(counts.wrapping_add(node).cast(), value);
            let ids: Vec<u32> = (0..u32::from(value)).collect();
            let place = self.get(fields.global_task_ids).wrapping_add(node);
            self.write(place.cast(), ids.leak().as_mut_ptr());
        }
    }

    /// The argument of a SPANK option.
    fn option(&mut self, option: &str, value: &[u8]) {
        let list = self.get(self.layout.launch.options);
        let for_each = self.symbols.slurm_list_for_each.expect("Slurm's lists");
        let mut items: Vec<*mut c_void> = Vec::new();
        // SAFETY: the request's own list; `gather` gets the pointer passed here.
        unsafe { for_each(list, gather, (&raw mut items).cast()) };
        let fields = &self.layout.job_option;
        let mut found = false;
        for item in items {
            // SAFETY: the list holds job_option_info records, whose option is null or a C string.
            let name = unsafe {
                ptr::read_unaligned(item.byte_add(fields.option.offset()).cast::<*mut c_char>())
            };
            // SAFETY: as above.
            let is_it = !name.is_null()
                && unsafe { CStr::from_ptr(name) }
                    .to_bytes()
                    .starts_with(format!("{option}:").as_bytes());
            if is_it {
                found = true;
                let place = item.wrapping_byte_add(fields.optarg.offset());
                self.write(place, kept(value));
            }
        }
        assert!(found, "srun was not given --{option}");
    }

    fn get<T: Copy>(&self, field: Field<T>) -> T {
        let place = self.request.wrapping_byte_add(field.offset());
        // SAFETY: a field of the request, a number or a pointer.
        unsafe { ptr::read_unaligned(place.cast()) }
    }

    fn put<T: Copy>(&mut self, field: Field<T>, value: T) {
        self.write(self.request.wrapping_byte_add(field.offset()), value);
    }

    fn write<T: Copy>(&mut self, place: *mut c_void, value: T) {
        let place = place.cast::<u8>();
        // SAFETY: a place inside the request or inside what it points to, as the callers say.
        unsafe {
            let before = std::slice::from_raw_parts(place, size_of::<T>()).to_vec();
            self.before.push((place, before));
            ptr::write_unaligned(place.cast(), value);
        }
    }
}

impl Drop for Forged {
    fn drop(&mut self) {
        for (place, bytes) in self.before.iter().rev() {
            // SAFETY: where these bytes were read; the request outlives the value.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), *place, bytes.len()) };
        }
    }
}

unsafe extern "C" fn gather(item: *mut c_void, items: *mut c_void) -> c_int {
    // SAFETY: `option` passes its vector, and no other reference to it is used meanwhile.
    unsafe { &mut *items.cast::<Vec<*mut c_void>>() }.push(item);
    0
}

/// A C string that lives as long as the process.
fn kept(text: &[u8]) -> *mut c_char {
    CString::new(text)
        .expect("a value holds no NUL byte")
        .into_raw()
}
