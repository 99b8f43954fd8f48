"""The screens: one module each, with a function that places the parts of its view model."""
