/** @file PaddleJob (batch.paddlepaddle.org/v1) as PaddlePaddle's operator defines it, as far as jobs use it: unknown keys of it are errors. */

const template = {
  type: 'object',
  properties: {
    metadata: {
      type: 'object',
      properties: {
        name: { type: 'string' },
        namespace: { type: 'string' },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
        annotations: { type: 'object', additionalProperties: { type: 'string' } },
      },
    },
    // The operator repeats Kubernetes' whole schema of pods here; pods are checked as pods.
    spec: { type: 'object', required: ['containers'], 'x-kubernetes-preserve-unknown-fields': true },
  },
}

const role = {
  type: 'object',
  required: ['replicas'],
  properties: {
    replicas: { type: 'integer' },
    requests: { type: 'integer' },
    limits: { type: 'integer' },
    template,
  },
}

const spec = {
  type: 'object',
  properties: {
    cleanPodPolicy: { type: 'string' },
    elastic: { type: 'integer' },
    intranet: { type: 'string' },
    withGloo: { type: 'integer' },
    schedulingPolicy: {
      type: 'object',
      properties: {
        minAvailable: { type: 'integer', format: 'int32' },
        minResources: { type: 'object', additionalProperties: { 'x-kubernetes-int-or-string': true } },
        priorityClass: { type: 'string' },
        queue: { type: 'string' },
      },
    },
    sampleSetRef: {
      type: 'object',
      required: ['mountPath'],
      properties: { mountPath: { type: 'string' }, name: { type: 'string' }, namespace: { type: 'string' } },
    },
    ps: role,
    worker: role,
    heter: role,
  },
}

export const PADDLEJOB_CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'paddlejobs.batch.paddlepaddle.org' },
  spec: {
    group: 'batch.paddlepaddle.org',
    names: {
      kind: 'PaddleJob',
      listKind: 'PaddleJobList',
      plural: 'paddlejobs',
      singular: 'paddlejob',
      shortNames: ['pdj'],
    },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec, status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        },
      },
    ],
  },
} as const
