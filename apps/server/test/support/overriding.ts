/** The same object, with some of its methods replaced. */
export function overriding<Target extends object>(target: Target, methods: Partial<Target>): Target {
  return new Proxy(target, {
    get(_, name) {
      if (name in methods) return Reflect.get(methods, name);
      const value: unknown = Reflect.get(target, name);
      // Private fields are the target's own.
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
