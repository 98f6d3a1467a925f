// SPDX-License-Identifier: Apache-2.0
// AES-GCM of OpenSSL's libcrypto, which is looked for when it is wanted: the core links with no library for it.
#pragma once

#include <string>

namespace lci {

/// The functions of libcrypto that seals need, by its names without EVP_. It stays loaded.
struct CryptoLibrary {
  void* (*CIPHER_CTX_new)() = nullptr;
  void (*CIPHER_CTX_free)(void* context) = nullptr;
  int (*CIPHER_CTX_ctrl)(void* context, int what, int number, void* pointer) = nullptr;
  const void* (*aes_128_gcm)() = nullptr;
  int (*EncryptInit_ex)(void* context, const void* cipher, void* engine, const unsigned char* key,
                        const unsigned char* nonce) = nullptr;
  int (*EncryptUpdate)(void* context, unsigned char* out, int* out_size, const unsigned char* in, int size) = nullptr;
  int (*EncryptFinal_ex)(void* context, unsigned char* out, int* out_size) = nullptr;
  int (*DecryptInit_ex)(void* context, const void* cipher, void* engine, const unsigned char* key,
                        const unsigned char* nonce) = nullptr;
  int (*DecryptUpdate)(void* context, unsigned char* out, int* out_size, const unsigned char* in, int size) = nullptr;
  int (*DecryptFinal_ex)(void* context, unsigned char* out, int* out_size) = nullptr;

  /// @param file of it; empty: where the system has libcrypto.so.3, or libcrypto.so.1.1. LCI_ERR_UNSUPPORTED.
  static int load(const std::string& file, CryptoLibrary* out);
};

}  // namespace lci
