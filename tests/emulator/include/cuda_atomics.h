// Atomics: threads never run at once here, so they are plain. Those that code may spin on give way now and then.
#pragma once

template <class T> struct EmuPlain { using type = T; };

template <class T, class F> static inline T emu_atomic(T *at, F change) {
    T old = *(volatile T *)at;
    *(volatile T *)at = change(old);
    return old;
}
#define EMU_ATOMIC(NAME, EXPRESSION) \
    template <class T> static inline T NAME(T *at, typename EmuPlain<T>::type value) { \
        return emu_atomic(at, [value](T old) -> T { return EXPRESSION; }); \
    } \
    template <class T> static inline T NAME##_block(T *at, typename EmuPlain<T>::type value) { \
        return NAME(at, value); \
    } \
    template <class T> static inline T NAME##_system(T *at, typename EmuPlain<T>::type value) { \
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
template <class T> static inline T atomicExch(T *at, typename EmuPlain<T>::type value) {
    emu_give_way();
    return emu_atomic(at, [value](T) -> T { return value; });
}
template <class T>
static inline T atomicCAS(T *at, typename EmuPlain<T>::type expected, typename EmuPlain<T>::type value) {
    emu_give_way();
    return emu_atomic(at, [=](T old) -> T { return old == expected ? value : old; });
}
