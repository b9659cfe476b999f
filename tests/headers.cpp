// Nothing of its own: the target that precompiles headers needs a source.
