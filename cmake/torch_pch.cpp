// The translation unit that owns the precompiled torch header.
