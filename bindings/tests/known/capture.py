"""Writes a known-answer file from a running slurmd: the bytes of a launch request, of slurmd's
settings and of the credential's arguments, and what their pointers lead to.

    LINE=22.05 OUT=a.json gdb -p PID_OF_SLURMD -batch -x capture.py      then an srun
    (LAYOUTS: layouts.json, where this is not started in bindings/)

The texts that are expected are then added by hand, from the srun line and slurm.conf: taken from
the bytes they would prove nothing. The format is at the top of ../known.rs."""
import json, os, gdb

variants = json.load(open(os.environ.get("LAYOUTS", "layouts.json")))["variants"]
structs = [v for v in variants if v["line"] == os.environ["LINE"]][-1]["structs"]
memory = gdb.selected_inferior().read_memory
blobs = {}


def number(address, size):
    return int.from_bytes(bytes(memory(address, size)), "little")


def blob(name, address, size):
    """One stretch of memory; pointers are filled in by the caller."""
    blobs[name] = {"bytes": bytes(memory(address, size)).hex(), "pointers": {}}


def text(owner, name, offset, address):
    if address:
        blob(name, address, len(gdb.Value(address).cast(gdb.lookup_type("char").pointer()).string()) + 1)
    blobs[owner]["pointers"][str(offset)] = name if address else None


def record(name, c, address):
    """A record with its texts; gives a reader of its fields."""
    fields = structs[c]
    end = max(f["offset"] + f["size"] for f in fields.values() if f)
    blob(name, address, end)
    for key, f in fields.items():
        if f and f["type"] == "char *":
            text(name, f"{name}.{key}", f["offset"], number(address + f["offset"], 8))
    return lambda key: number(address + fields[key]["offset"], fields[key]["size"])


def array(owner, c, key, address, size):
    blob(f"{owner}.{key}", address, size)
    blobs[owner]["pointers"][str(structs[c][key]["offset"])] = f"{owner}.{key}"


def capture(request, node_id):
    c = "launch_tasks_request_msg_t"
    get = record("request", c, request)
    nodes = get("nnodes")
    array("request", c, "tasks_to_launch", get("tasks_to_launch"), 2 * nodes)
    array("request", c, "global_task_ids", get("global_task_ids"), 8 * nodes)
    for node in range(nodes):
        blob(f"ids.{node}", number(get("global_task_ids") + 8 * node, 8), 4 * number(get("tasks_to_launch") + 2 * node, 2))
        blobs["request.global_task_ids"]["pointers"][str(8 * node)] = f"ids.{node}"
    array("request", c, "env", get("env"), 8 * (get("envc") + 1))
    for index in range(get("envc")):
        text("request.env", f"env.{index}", 8 * index, number(get("env") + 8 * index, 8))
    blobs["request"]["pointers"][str(structs[c]["options"]["offset"])] = None
    cred = get("cred")
    arguments = int(gdb.parse_and_eval(f"((unsigned long (*)(unsigned long)) slurm_cred_get_args)({cred})"))
    gdb.parse_and_eval(f"((void (*)(unsigned long)) slurm_cred_unlock_args)({cred})")
    c = "slurm_cred_arg_t"
    get = record("cred", c, arguments)
    for key, size in (("sockets_per_node", 2), ("cores_per_socket", 2), ("sock_core_rep_count", 4)):
        array("cred", c, key, get(key), size * get("core_array_size"))
    for key in ("job_core_bitmap", "step_core_bitmap"):
        array("cred", c, key, get(key), 16 + (number(get(key) + 8, 8) + 63) // 64 * 8)
    c = "slurmd_conf_t"
    get = record("conf", c, number(int(gdb.parse_and_eval("(unsigned long) &conf")), 8))
    for key in ("block_map", "block_map_inv"):
        array("conf", c, key, get(key), 2 * get("block_map_size"))
    known = {"release": os.environ["LINE"] + ".?", "node_id": node_id, "blobs": blobs, "expected": {}}
    json.dump(known, open(os.environ["OUT"], "w"), indent=1)


gdb.execute("break task_p_slurmd_launch_request")
gdb.execute("continue")
capture(int(gdb.parse_and_eval("(unsigned long) $rdi")), int(gdb.parse_and_eval("(unsigned int) $esi")))
