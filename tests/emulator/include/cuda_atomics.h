// Atomics: threads never run at once here, so they are plain. Those that code may spin on give way now and then.
#pragma once

template <class EmuT> struct EmuPlain { using type = EmuT; };

template <class EmuT, class EmuF> static inline EmuT emu_atomic(EmuT *at, EmuF change) {
    EmuT old = *(volatile EmuT *)at;
    *(volatile EmuT *)at = change(old);
    return old;
}
#define EMU_ATOMIC(NAME, EXPRESSION) \
    template <class EmuT> static inline EmuT NAME(EmuT *at, typename EmuPlain<EmuT>::type value) { \
        return emu_atomic(at, [value](EmuT old) -> EmuT { return EXPRESSION; }); \
    } \
    template <class EmuT> static inline EmuT NAME##_block(EmuT *at, typename EmuPlain<EmuT>::type value) { \
        return NAME(at, value); \
    } \
    template <class EmuT> static inline EmuT NAME##_system(EmuT *at, typename EmuPlain<EmuT>::type value) { \
        return NAME(at, value); \
    }
EMU_ATOMIC(atomicAdd, old + value)
EMU_ATOMIC(atomicSub, old - value)
EMU_ATOMIC(atomicMax, old > value ? old : value)
EMU_ATOMIC(atomicMin, old < value ? old : value)
EMU_ATOMIC(atomicAnd, old &value)
EMU_ATOMIC(atomicOr, old | value)
EMU_ATOMIC(atomicXor, old ^ value)
EMU_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
EMU_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
#undef EMU_ATOMIC

static inline void emu_give_way() {
    static unsigned calls;
    if (++calls % 64 == 0) emu_api->yield();
}
template <class EmuT> static inline EmuT atomicExch(EmuT *at, typename EmuPlain<EmuT>::type value) {
    emu_give_way();
    return emu_atomic(at, [value](EmuT) -> EmuT { return value; });
}
template <class EmuT>
static inline EmuT atomicCAS(EmuT *at, typename EmuPlain<EmuT>::type expected, typename EmuPlain<EmuT>::type value) {
    emu_give_way();
    return emu_atomic(at, [=](EmuT old) -> EmuT { return old == expected ? value : old; });
}
