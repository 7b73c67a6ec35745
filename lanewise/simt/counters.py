"""What a launch did, in the units of Nsight Compute."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(slots=True)
class Counters:
    """Sums over one launch. `None` means: not known (clang's PTX has no exact counts for some).

    The memory counters equal Nsight Compute's metric of the comment; `sector` is 32 bytes. In no `shared_*` counter is what wgmma reads of shared
    memory, what another block of the cluster has of it, and what atomics do there (float ones are loops on a GPU, whose loads it does count).
    Wavefronts are those that an access's addresses make. Nsight Compute's count repeats, too, of accesses that found their banks taken by other warps'
    loads, shuffles, copies or wgmma: another number in each run where l1tex__data_bank_conflicts_type_arbitration.sum isn't 0. Then its wavefronts by
    instruction, smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_*.sum, are the ones to compare. A GPU's tensor_operations hold those of an mma
    whose predicate is false, too, and ptxas makes predicates of some short branches.
    """

    global_load_requests: int | None = 0  # l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
    global_load_sectors: int | None = 0  # l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
    global_store_requests: int | None = 0  # l1tex__t_requests_pipe_lsu_mem_global_op_st.sum
    global_store_sectors: int | None = 0  # l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum
    shared_load_requests: int | None = 0  # smsp__sass_inst_executed_op_shared_ld.sum
    shared_load_wavefronts: int | None = 0  # l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum
    shared_store_requests: int | None = 0  # smsp__sass_inst_executed_op_shared_st.sum
    shared_store_wavefronts: int | None = 0  # l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum
    global_bytes: int | None = 0  # sectors that the requests touch × 32: what the SMs asked for, as if there were no L2
    dram_read_bytes: int | None = 0  # unique sectors read × 32: compulsory traffic
    dram_write_bytes: int | None = 0  # unique sectors written × 32: eventual write-back
    barriers: int | None = 0  # block barriers completed, summed over blocks
    warp_instructions: int | None = 0  # PTX instructions × warps that executed them
    active_lane_ratio: float | None = 0.0  # lanes that executed ÷ (32 × warp_instructions)
    flops: int | None = 0  # an fma counts 2; mma and wgmma 2·m·n·k
    tensor_operations: int | None = 0  # of flops those of mma, wmma and wgmma, whole numbers and bits too: the sum of sm__ops_path_tensor_src_*.sum
    wgmma_instructions: int | None = 0  # wgmma.mma_async, one for the four warps of a warpgroup: sm__inst_executed_pipe_tensor_op_gmma.sum / 4
    wgmma_shared_wavefronts: int | None = 0  # l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum: 128 bytes of A or B each
    wgmma_overlapped: int | None = 0  # other PTX instructions × warps, between a wgmma and the wait that ends it
    atomics: int | None = 0  # atomic operations, one a lane
    tma_load_bytes: int | None = 0  # global memory that bulk and tensor copies read: no l1tex lsu counter has them, global_bytes and dram_read_bytes do
    tma_store_bytes: int | None = 0  # global memory that they write
    tma_load_sectors: int | None = 0  # l1tex__m_xbar2l1tex_read_sectors_mem_global_op_tma_ld.sum: what arrives, filling too, for each block that gets it;
    # a request ends at each 128th byte of global and of shared memory, a sector that two of them touch counts twice (instructions/copy_sectors.py)
    tma_store_sectors: int | None = 0  # l1tex__m_l1tex2xbar_write_sectors_mem_global_op_tma_st.sum and _red.sum: in the same requests
    tma_requests: int | None = 0  # bulk and tensor copies from and to global memory: smsp__sass_inst_executed_op_tma_ld.sum, _st.sum and _red.sum

    def as_dict(self) -> dict[str, int | float | None]:
        """Flat: name → number or None."""
        return {f.name: getattr(self, f.name) for f in fields(self)}
