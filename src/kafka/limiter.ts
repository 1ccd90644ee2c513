/** Runs work now, or when a place becomes free. */
export type Limiter = <T>(work: () => Promise<T>) => Promise<T>;

/** At most `places` pieces of work at once, the others wait in line. */
export function createLimiter(places: number): Limiter {
  let free = places;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
