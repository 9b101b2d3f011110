"""Networks of finite width against the infinite one."""
