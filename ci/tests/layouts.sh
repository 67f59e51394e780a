# shellcheck shell=bash
# shellcheck disable=SC2154 # $root and the words "same", "refuses", … come from ci/tests/run.
# ci/layouts, on a small source tree made here, with records of our own under Slurm's names.
# BERTH_SLURM_SOURCE: folders with real source trees, between colons; each must be as our table says.

# Writes ./tree: just what ci/layouts looks for.
make_tree() {
    mkdir -p tree/slurm tree/src/common tree/src/interfaces tree/src/slurmd/slurm{d,stepd}
    printf '  Name:\tslurm\n  Major:\t26\n  Minor:\t05\n  Micro:\t3\n  Version:\t26.05.3\n' > tree/META
    printf '#undef SLURM_VERSION_NUMBER\n' > tree/slurm/slurm_version.h.in
    cat > tree/slurm/slurm.h <<'TEXT'
#pragma once
#include <stdint.h>
#include <slurm/slurm_version.h>
#define NO_VAL (0xfffffffe)
enum select { SELECT_CORE_DEFAULT_DIST_BLOCK = 1 << 12 };
typedef struct list list_t;
typedef struct { uint32_t job_id; uint32_t step_id; } slurm_step_id_t;
TEXT
    cat > tree/src/common/slurm_protocol_defs.h <<'TEXT'
#include "config.h"
typedef struct { char before[SLURM_VERSION_NUMBER & 0xff]; uint16_t flags; char *names[2]; list_t *options; } launch_t;
TEXT
    printf 'struct job_option_info { int type; char *option; };\n' > tree/src/common/job_options.h
    local header
    for header in slurm/slurm_errno.h src/common/env.h src/interfaces/{cred,gres}.h src/slurmd/slurmd/slurmd.h \
        src/slurmd/slurmstepd/slurmstepd_job.h; do
        printf '#include <slurm/slurm.h>\n' > "tree/$header"
    done
    printf 'static const char *syms[] = {\n\t"task_p_one",\n\t"task_p_two",\n};\n' > tree/src/interfaces/task.c
}

# Writes ./table.json: what those records are, counted by hand.
make_table() {
    cat > table.json <<'TEXT'
{
 "about": "a test",
 "unread": {
  "launch_t": ["options"]
 },
 "needed_until": {
  "slurm_step_id_t.job_id": "25.11"
 },
 "renamed": {
  "CR_CORE_DEFAULT_DIST_BLOCK": "SELECT_CORE_DEFAULT_DIST_BLOCK"
 },
 "variants": [
  {
   "line": "26.05",
   "first_micro": 3,
   "last_verified_micro": 3,
   "releases": 1,
   "required_symbols": [
    "task_p_one",
    "task_p_two"
   ],
   "structs": {
    "launch_t": {
     "flags": {"offset": 4, "size": 2, "type": "uint16_t"},
     "options": {"offset": 24, "size": 8, "type": "list_t *"},
     "no_longer_there": null
    },
    "slurm_step_id_t": {
     "job_id": null,
     "step_id": {"offset": 4, "size": 4, "type": "uint32_t"}
    },
    "job_option_info_t": {
     "option": {"offset": 8, "size": 8, "type": "char *"}
    }
   },
   "constants": {
    "NO_VAL": 4294967294,
    "CR_CORE_DEFAULT_DIST_BLOCK": 4096,
    "LAUNCH_OVERCOMMIT": null
   }
  }
 ]
}
TEXT
}

layouts() { "$root/ci/layouts" --table table.json "$@"; }
# gives STATUS TEXT ARGUMENT…: what it prints on stdout, and its exit status.
gives() {
    local status=0 output
    output=$(layouts "${@:3}" 2> errors) || status=$?
    same "$status: $output" "$1: $2"
}
edit() { sed -i -e "$1" "$2"; }

test_an_equal_tree_has_no_difference() {
    make_tree; make_table
    gives 0 '' tree
    contains "$(cat errors)" '26.05.3: 9 fields and constants'
}

test_what_moved_is_named() {
    make_tree; make_table
    edit 's/uint16_t flags/uint64_t flags/' tree/src/common/slurm_protocol_defs.h
    edit 's/uint32_t step_id/int32_t *step_id/' tree/slurm/slurm.h
    edit 's/int type;/int type, more; int64_t another;/' tree/src/common/job_options.h
    gives 1 'launch_t.flags: table 4, tree 8
launch_t.flags (size): table 2, tree 8
launch_t.flags (type): table uint16_t, tree uint64_t
launch_t.options: table 24, tree 32
slurm_step_id_t.step_id: table 4, tree 8
slurm_step_id_t.step_id (size): table 4, tree 8
slurm_step_id_t.step_id (type): table uint32_t, tree int32_t *
job_option_info_t.option: table 8, tree 16' tree
}

test_what_came_and_went_is_named() {
    make_tree; make_table
    edit 's/list_t \*options/int no_longer_there/' tree/src/common/slurm_protocol_defs.h
    edit 's/1 << 12/1 << 13/; s/^#define NO_VAL.*/#define LAUNCH_OVERCOMMIT 0x80/' tree/slurm/slurm.h
    edit 's/task_p_two/task_p_three/' tree/src/interfaces/task.c
    gives 1 'launch_t.options: table 24, tree none
launch_t.no_longer_there: table none, tree 24
NO_VAL: table 4294967294, tree none
CR_CORE_DEFAULT_DIST_BLOCK: table 4096, tree 8192
LAUNCH_OVERCOMMIT: table none, tree 128
required_symbols: table has no task_p_three, tree has it
required_symbols: table has task_p_two, tree has not' tree
}

test_what_is_no_source_tree_is_said() {
    make_tree; make_table
    gives 2 ''
    gives 2 '' --no-such-option tree
    mkdir empty
    gives 2 '' empty
    contains "$(cat errors)" 'empty has no file META'
    rm tree/src/interfaces/cred.h
    gives 2 '' tree
    contains "$(cat errors)" 'tree (Slurm 26.05.3) has no src/interfaces/cred.h and no src/common/slurm_cred.h'
}

test_headers_that_do_not_compile_are_said() {
    make_tree; make_table
    printf '#error not like this\n' >> tree/src/common/env.h
    gives 2 '' tree
    contains "$(cat errors)" 'not like this'
}

test_a_table_in_another_form_is_refused() {
    make_tree; make_table
    edit 's/"flags": {/"flags": {\n/' table.json
    gives 2 '' tree
    contains "$(cat errors)" 'not in the form that ci/layouts writes'
}

test_print_gives_the_variant_as_the_table_has_it() {
    make_tree; make_table
    gives 0 "$(sed -n '/^  {$/,/^  }$/p' table.json)" --print tree
}

test_write_extends_the_variant_of_an_equal_release() {
    make_tree; make_table
    edit 's/Micro:.*/Micro: 4/' tree/META
    edit 's/char before.*; uint16/char before[3]; uint16/' tree/src/common/slurm_protocol_defs.h
    gives 0 '' --write tree
    contains "$(cat table.json)" '"first_micro": 3,
   "last_verified_micro": 4,
   "releases": 2,'
    gives 0 '' tree
    # Nobody has looked at 26.05.5.
    edit 's/Micro:.*/Micro: 6/' tree/META
    gives 2 '' --write tree
    contains "$(cat errors)" 'write 26.05.5 first'
}

test_write_adds_a_variant_for_a_release_that_differs() {
    make_tree; make_table
    edit 's/Micro:.*/Micro: 5/' tree/META
    gives 1 'launch_t.flags: table 4, tree 6' tree
    gives 0 'launch_t.flags: table 4, tree 6' --write tree
    gives 0 '' tree
    edit 's/Micro:.*/Micro: 3/' tree/META
    gives 0 '' tree
}

test_write_takes_no_release_candidate() {
    make_tree; make_table
    edit 's/Micro:.*/Micro: 4\n  Release: 0rc1/' tree/META
    edit 's/char before.*; uint16/char before[3]; uint16/' tree/src/common/slurm_protocol_defs.h
    gives 2 '' --write tree
    contains "$(cat errors)" 'the release candidate 26.05.4-0rc1'
}

test_write_adds_a_new_line_in_its_place() {
    make_tree; make_table
    edit 's/Minor:.*/Minor: 11/' tree/META
    gives 2 '' tree
    contains "$(cat errors)" 'nothing for Slurm 26.11'
    gives 0 '' --write tree
    edit 's/Major:.*/Major: 25/; s/Micro:.*/Micro: 0/' tree/META
    gives 0 '' --write tree
    same "$(grep -c '^  },$' table.json) $(sed -n 's/^   "line": "\(.*\)",/\1/p' table.json | paste -sd ' ')" '2 25.11 26.05 26.11'
    gives 0 '' tree
}

# Not written by hand, and the reader of the file takes nothing for granted.
test_our_own_tables_can_be_read() {
    make_tree
    local processor
    for processor in '' .aarch64; do
        cp "$root/bindings/layouts$processor.json" table.json
        "$root/ci/layouts" --table table.json --print tree > printed
        contains "$(cat printed)" '"step_id": {"offset": 4, "size": 4, "type": "uint32_t"}'
        contains "$(cat printed)" '"xcpuset_t": null'
    done
}

if [ -n "${BERTH_SLURM_SOURCE:-}" ]; then
    test_real_trees_are_as_our_table_says() {
        local trees tree
        IFS=: read -r -a trees <<< "$BERTH_SLURM_SOURCE"
        for tree in "${trees[@]}"; do "$root/ci/layouts" "$tree"; done
    }
fi
