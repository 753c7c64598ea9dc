// The translation unit that each precompiled header needs.
