interface Metric {
  readonly get: () => Promise<{ readonly values: readonly { labels: object; value: number }[] }>;
}

/** What a metric has counted, by its labels without the feed's name, joined with spaces. */
export async function counted(metric: Metric): Promise<Record<string, number>> {
  const { values } = await metric.get();
  return Object.fromEntries(
    values.map(({ labels, value }) => {
      const shown = Object.entries(labels).filter(([name]) => name !== 'feed');
      return [shown.map(([, label]) => String(label)).join(' '), value];
    }),
  );
}

/** The sum over all labels. */
export async function total(metric: Metric): Promise<number> {
  return (await metric.get()).values.reduce((sum, { value }) => sum + value, 0);
}
