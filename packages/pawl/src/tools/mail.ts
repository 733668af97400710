export * from '@pawl/tools/mail'
