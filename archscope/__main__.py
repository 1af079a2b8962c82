"""`python -m archscope` is the `archscope` command."""

from archscope.cli import main

if __name__ == "__main__":
    main()
